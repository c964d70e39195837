// Random stacks against a naive model: what the dispatcher answers is what composing plain functions would have answered.
import {
  CAUSE,
  composeToolCallers,
  createDispatcher,
  type LayerRun,
  type ToolCaller,
  type ToolResult,
} from "@toolspan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answer, named } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

type Kind = "pass" | "short" | "deny" | "throw_before" | "throw_after" | "nothing" | "retry" | "rewrite" | "audit" | "drop_audit" | "replace" | "catch"; // biome-ignore format: one union
interface Step {
  readonly kind: Kind;
  readonly n: number;
  readonly form: "sync" | "async" | "thenable";
}
interface ToolScript {
  /** What the handler does at each attempt; the last one again and again. */
  readonly attempts: readonly ("value" | "throw" | "soft")[];
}

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom<Kind>("pass", "short", "deny", "throw_before", "throw_after", "nothing", "retry", "rewrite", "audit", "drop_audit", "replace", "catch"), // biome-ignore format: one list
    n: fc.nat(5),
    form: fc.constantFrom("sync" as const, "async" as const, "thenable" as const),
  }),
  { maxLength: 6 },
);
const tools = fc.record({ attempts: fc.array(fc.constantFrom("value" as const, "throw" as const, "soft" as const), { minLength: 1, maxLength: 3 }) }); // biome-ignore format: one record

/** The reference: what one dispatch comes to, without promises, records or boundaries. */
interface Outcome {
  readonly status: string;
  readonly result: unknown;
  readonly cause: unknown;
}
interface Model {
  readonly outcome: Outcome;
  readonly audit: Readonly<Record<string, unknown>>;
  readonly handlerArgs: readonly unknown[];
  readonly runs: readonly string[];
}

const LAYER_ERROR = (n: number): string => `layer error ${n}`;

function model(stack: readonly Step[], script: ToolScript, args: unknown): Model {
  const handlerArgs: unknown[] = [];
  const runs: string[] = [];
  let audit: Record<string, unknown> = {};

  function tool(given: unknown): Outcome {
    const word = script.attempts[Math.min(handlerArgs.length, script.attempts.length - 1)];
    handlerArgs.push(given);
    if (word === "throw") return { status: "exception", result: undefined, cause: `tool ${handlerArgs.length}` };
    if (word === "soft") return { status: "error", result: { isError: true, given }, cause: undefined };
    return { status: "ok", result: { given }, cause: undefined };
  }

  function layer(at: number, given: unknown): Outcome {
    const step = stack[at];
    if (step === undefined) return tool(given);
    const { kind, n } = step;
    runs.push(`${at} ${kind}`);
    const next = (passed: unknown = given): Outcome => layer(at + 1, passed);
    const crash = (cause: unknown): Outcome => ({ status: "tool_middleware_exception", result: undefined, cause });
    switch (kind) {
      case "short":
        return { status: "ok", result: n, cause: undefined };
      case "deny":
        return { status: "consent_denied", result: null, cause: undefined };
      case "throw_before":
        return crash(LAYER_ERROR(n));
      case "throw_after":
        next();
        return crash(LAYER_ERROR(n));
      case "nothing":
        next();
        return crash(undefined);
      case "retry": {
        let last = next();
        for (let attempt = 0; attempt < 2 && last.status !== "ok"; attempt += 1) last = next();
        return last;
      }
      case "rewrite":
        return next({ rewritten: n });
      case "audit": {
        const inner = next();
        audit = { ...audit, [`key_${n % 3}`]: at };
        return inner;
      }
      case "replace":
        return { ...next(), result: n, status: "ok", cause: undefined };
      case "catch": {
        const inner = next();
        return inner.status === "ok" ? inner : { status: "ok", result: "caught", cause: undefined };
      }
      default:
        return next();
    }
  }
  const outcome = layer(0, args);
  return { outcome, audit, handlerArgs, runs };
}

/** The same step as a real layer. */
function toLayer({ kind, n, form }: Step): ToolCaller {
  const fail = (): never => {
    throw LAYER_ERROR(n);
  };
  const act: ToolCaller = async (call, next) => {
    switch (kind) {
      case "short":
        return answer(call, { result: n });
      case "deny":
        return answer(call, { ok: false, status: "consent_denied", observation: "no" });
      case "throw_before":
        return fail();
      case "throw_after":
        await next(call);
        return fail();
      case "nothing":
        await next(call);
        return undefined as never;
      case "retry": {
        let last = await next(call);
        for (let attempt = 0; attempt < 2 && !last.ok; attempt += 1) last = await next(call);
        return last;
      }
      case "rewrite":
        return next({ ...call, toolArgs: { rewritten: n } });
      case "audit":
        return next(call);
      case "drop_audit": {
        const { audit: _, ...rest } = await next(call);
        return rest;
      }
      case "replace":
        await next(call);
        return answer(call, { result: n });
      case "catch": {
        const inner = await next(call);
        return inner.ok ? inner : answer(call, { result: "caught" });
      }
      default:
        return next(call);
    }
  };
  if (form === "thenable") return named(kind, (...given) => new (class extends Promise<ToolResult> {})((ok, no) => void (act(...given) as Promise<ToolResult>).then(ok, no))); // biome-ignore format: one form
  const isSync = form === "sync" && ["pass", "rewrite", "short", "deny", "throw_before"].includes(kind);
  if (!isSync) return named(kind, act);
  return named(kind, (call, next) => {
    if (kind === "short") return answer(call, { result: n });
    if (kind === "deny") return answer(call, { ok: false, status: "consent_denied", observation: "no" });
    if (kind === "throw_before") return fail();
    return next(kind === "rewrite" ? { ...call, toolArgs: { rewritten: n } } : call);
  });
}

/** Layers that attach audit need to know where they stand. */
function toLayers(stack: readonly Step[]): ToolCaller[] {
  return stack.map((step, at) => {
    const layer = toLayer(step);
    if (step.kind !== "audit") return layer;
    return named("audit", async (call, next, scope) => {
      const result = await layer(call, next, scope);
      return { ...result, audit: { [`key_${step.n % 3}`]: at } };
    });
  });
}

function toHandler({ attempts }: ToolScript, handlerArgs: unknown[]) {
  return ({ toolArgs }: { readonly toolArgs: unknown }): unknown => {
    const word = attempts[Math.min(handlerArgs.length, attempts.length - 1)];
    handlerArgs.push(toolArgs);
    if (word === "throw") throw `tool ${handlerArgs.length}`;
    return word === "soft" ? { isError: true, given: toolArgs } : { given: toolArgs };
  };
}

function outcomeOf(result: ToolResult): Outcome {
  return { status: result.status, result: result.result, cause: result[CAUSE] };
}

/** Cuts a stack into nested compositions. */
function nest(layers: readonly ToolCaller[], cuts: readonly number[]): readonly ToolCaller[] {
  const [cut, ...rest] = cuts;
  if (cut === undefined || layers.length === 0) return layers;
  const at = cut % layers.length;
  return [...layers.slice(0, at), composeToolCallers(nest(layers.slice(at), rest))];
}

describe("a dispatch through any stack", { timeout: 60_000 }, () => {
  it("comes to what the model says, with the runs, attempts and audit that the model says", async () => {
    await fc.assert(
      fc.asyncProperty(steps, tools, fc.boolean(), async (stack, script, isWatched) => {
        const expected = model(stack, script, { entered: true });
        const handlerArgs: unknown[] = [];
        const observer = recordingObserver();
        const recorder = recordingRecorder();
        const hoisted = isWatched ? [observer.caller, recorder.caller] : [];
        const dispatch = createDispatcher([...toLayers(stack), ...hoisted]);
        const result = await dispatch({ toolName: "t", toolArgs: { entered: true } }, toHandler(script, handlerArgs));

        expect(outcomeOf(result)).toEqual(expected.outcome);
        expect(handlerArgs).toEqual(expected.handlerArgs);
        expect(result.executed).toBe(handlerArgs.length > 0);
        const { layers, receipt_uri: _, ...audit } = result.audit ?? {};
        expect(audit).toEqual(expected.audit);
        expect(layers !== undefined).toBe(Object.keys(expected.audit).length > 0);
        if (!isWatched) return;
        const { runs, attempts } = recorder.only();
        expect(runs.map(({ index, name }) => `${index} ${name}`)).toEqual(expected.runs);
        expect(attempts).toBe(handlerArgs.length);
        expect(
          observer
            .only()
            .spans.filter(({ kind }) => kind === "layer")
            .map(({ run }) => run),
        ).toEqual(runs);
        checkWindows(runs);
      }),
      { numRuns: 300 },
    );
  });

  it("comes to the same however the stack is cut into compositions", async () => {
    await fc.assert(
      fc.asyncProperty(steps, tools, fc.array(fc.nat(6), { maxLength: 3 }), async (stack, script, cuts) => {
        const run = async (layers: readonly ToolCaller[]): Promise<readonly unknown[]> => {
          const recorder = recordingRecorder();
          const handlerArgs: unknown[] = [];
          const dispatch = createDispatcher([recorder.caller, ...layers]);
          const result = await dispatch({ toolName: "t", toolArgs: 1 }, toHandler(script, handlerArgs));
          const runs = recorder
            .only()
            .runs.map(({ name, index, depth, attempt, status }) => [name, index, depth, attempt, status]);
          return [outcomeOf(result), handlerArgs, runs];
        };
        expect(await run(nest(toLayers(stack), cuts))).toEqual(await run(toLayers(stack)));
      }),
      { numRuns: 200 },
    );
  });

  it("comes to the same with a layer more that only passes on, wherever it stands", async () => {
    await fc.assert(
      fc.asyncProperty(steps, tools, fc.nat(6), async (stack, script, place) => {
        const at = place % (stack.length + 1);
        const more: Step = { kind: "pass", n: 0, form: "sync" };
        const results = await Promise.all(
          [stack, stack.toSpliced(at, 0, more)].map(async (each) => {
            const dispatch = createDispatcher(toLayers(each));
            return outcomeOf(await dispatch({ toolName: "t", toolArgs: 1 }, toHandler(script, [])));
          }),
        );
        expect(results[1]).toEqual(results[0]);
      }),
      { numRuns: 200 },
    );
  });
});

/** Every run lies inside the run that encloses it, and self times are sane. */
function checkWindows(runs: readonly LayerRun[]): void {
  const open: LayerRun[] = [];
  for (const run of runs) {
    open.length = run.depth;
    const parent = open.at(-1);
    expect(run.endedAt).toBeGreaterThan(run.startedAt);
    expect(run.selfTime).toBeGreaterThanOrEqual(0);
    expect(run.selfTime).toBeLessThanOrEqual(run.endedAt - run.startedAt);
    if (parent !== undefined) {
      expect(run.startedAt).toBeGreaterThan(parent.startedAt);
      expect(run.endedAt).toBeLessThan(parent.endedAt);
    }
    open.push(run);
  }
}
