// Laws of concurrency: dispatches that interleave at random, nest and stream never mix.

import { plainHasher } from "@toolspan/canonical/hash";
import { createDispatcher, type DispatchResult, diagnostics, type ToolCaller } from "@toolspan/core";
import fc from "fast-check";
import { expect, it } from "vitest";
import { answer, drain, named } from "../support/kernel-parts.ts";
import { type RecordedDispatch, recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

interface Args {
  readonly id: number;
  readonly kind: "value" | "throw" | "soft" | "stream" | "nested" | "deny" | "retry" | "give_up";
  readonly waits: readonly number[];
}

const KINDS = ["value", "throw", "soft", "stream", "nested", "deny", "retry", "give_up"] as const;

/** Waits that differ in kind: a microtask, a turn of the loop, a timer. */
async function wait(kind = 0): Promise<void> {
  if (kind % 3 === 0) await Promise.resolve();
  else if (kind % 3 === 1) await new Promise((resolve) => setImmediate(resolve));
  else await new Promise((resolve) => setTimeout(resolve, kind % 5));
}

it("1,000 dispatches with random awaits, own child work and nested dispatches never mix", async () => {
  diagnostics.listen(() => {}); // layers of dispatches that were given up come too late
  const observer = recordingObserver();
  const recorder = recordingRecorder();
  const [first] = fc.sample(fc.array(fc.array(fc.nat(20), { minLength: 6, maxLength: 6 }), { minLength: 1000, maxLength: 1000 }), { numRuns: 1, seed: 4711 }); // biome-ignore format: one sample
  const calls = (first ?? []).map((waits, id): Args => ({ id, waits, kind: KINDS[id % KINDS.length] ?? "value" }));
  const argsOf = (value: unknown): Args => value as Args;

  /** Every piece of user code checks that it runs inside its own dispatch and nobody else's. */
  const strays: string[] = [];
  const check = (where: string, id: number): void => {
    const active = observer.activeDispatch()?.scope.call.toolArgs as Args | undefined;
    if (active?.id !== id || observer.active() !== where)
      strays.push(`${where} of ${id} ran in ${observer.active()} of ${active?.id}`);
  };

  const checking = (name: string, at: number): ToolCaller =>
    named(name, async (call, next, scope) => {
      const { id, waits } = argsOf(call.toolArgs);
      check(name, id);
      await wait(waits[at]);
      check(name, id);
      scope.report({ attributes: { id } });
      const result = await next(call);
      check(name, id);
      await wait(waits[at + 1]);
      check(name, id);
      return { ...result, audit: { [name]: id } };
    });
  const behaves = named("behaves", async (call, next) => {
    const { kind } = argsOf(call.toolArgs);
    if (kind === "deny") return answer(call, { ok: false, status: "consent_denied", observation: "no" });
    if (kind === "retry") await next(call);
    if (kind === "give_up") {
      void next(call);
      return answer(call, { ok: false, status: "timeout", observation: "late" });
    }
    return next(call);
  });
  const dispatch = createDispatcher([checking("a", 0), observer.caller, behaves, recorder.caller, checking("b", 2)]);

  async function run(args: Args): Promise<DispatchResult> {
    const result = await dispatch({ toolName: `t${args.id}`, toolArgs: args, callId: "same" }, async (call) => {
      const { id, kind, waits } = argsOf(call.toolArgs);
      const leaf = `leaf#${call.attempt}`;
      check(leaf, id);
      await wait(waits[4]);
      check(leaf, id);
      if (kind === "throw") throw new RangeError(String(id));
      if (kind === "soft") return { isError: true, id };
      if (kind === "nested") {
        const inner = await run({ id: id + 10_000, kind: "value", waits });
        check(leaf, id);
        return { id, inner: inner.result };
      }
      if (kind !== "stream") return { id };
      return (async function* () {
        for (const n of [0, 1, 2]) {
          check(leaf, id);
          yield { id, n };
          await wait(waits[5]);
        }
        check(leaf, id);
      })();
    });
    if (result.settled === undefined) return result;
    await wait(args.waits[5]);
    const items = await drain(result);
    expect(items).toEqual([0, 1, 2].map((n) => ({ id: args.id, n })));
    return (await result.settled) as DispatchResult;
  }

  const results = await Promise.all(calls.map(run));
  await new Promise((resolve) => setTimeout(resolve, 30));

  expect(strays).toEqual([]);
  const nested = calls.filter(({ kind }) => kind === "nested").length;
  const total = calls.length + nested;
  expect([observer.dispatches.length, recorder.outcomes.length]).toEqual([total, total]);
  expect(observer.dispatches.flatMap(({ ends }) => ends)).toHaveLength(total);
  expect(new Set(observer.dispatches.map(({ scope }) => scope.id)).size).toBe(total);

  const byId = new Map(observer.dispatches.map((each) => [argsOf(each.scope.call.toolArgs).id, each]));
  const hasher = plainHasher();
  for (const args of calls) {
    const { id, kind } = args;
    const { scope, ends, spans, late } = byId.get(id) as RecordedDispatch;
    const [end] = ends;
    const result = results[id] as DispatchResult;
    expect([result.toolName, result.audit?.a, result.audit?.b ?? id]).toEqual([`t${id}`, id, id]);
    expect(spans.flatMap(({ run: own }) => own?.attributes?.id ?? []).every((own) => own === id)).toBe(true);
    expect(new Set(spans.flatMap(({ run: own }) => own ?? []))).toEqual(new Set(end?.runs));
    expect(scope.argsDigest).toEqual(hasher.value(args));
    const names =
      kind === "deny" ? ["a", "behaves"] : kind === "retry" ? ["a", "behaves", "b", "b"] : ["a", "behaves", "b"];
    expect(end?.runs.map(({ name }) => name)).toEqual(names);
    if (kind === "value") expect(result.result).toEqual({ id });
    if (kind === "nested") expect(result.result).toEqual({ id, inner: { id: id + 10_000 } });
    expect(late.length).toBeLessThanOrEqual(1);
    for (const { endedAt } of spans) expect(endedAt).toHaveLength(1);
  }
}, 60_000);
