// Laws of the consent binding: what was judged is what runs.
import { createDispatcher, defineLayer, type RewritesArgs, type ToolCaller, withExecutionPolicy } from "@toolspan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { echo, statusLine } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";

const json = (args: unknown): string | null => JSON.stringify(args) ?? null;

const decide = (digest: (args: unknown) => string | null = json): ToolCaller =>
  defineLayer({
    name: "decide",
    traits: { rewritesArgs: "no" },
    call(call, next, scope) {
      scope.bindArgs(digest);
      return next(call);
    },
  });

const rewrite = (rewritesArgs: RewritesArgs | undefined, to: (args: never) => unknown): ToolCaller =>
  defineLayer({
    name: "rewrite",
    ...(rewritesArgs === undefined ? {} : { traits: { rewritesArgs } }),
    call: (call, next) => next({ ...call, toolArgs: to(call.toolArgs as never) }),
  });

const mutate = (rewritesArgs?: RewritesArgs): ToolCaller =>
  defineLayer({
    name: "mutate",
    ...(rewritesArgs === undefined ? {} : { traits: { rewritesArgs } }),
    call(call, next) {
      (call.toolArgs as { path: string }).path = "/etc";
      return next(call);
    },
  });

async function run(...layers: ToolCaller[]): Promise<string> {
  const result = await createDispatcher(layers)({ toolName: "t", toolArgs: { path: "/tmp" } }, echo);
  expect(result.executed).toBe(result.ok);
  return statusLine(result);
}

const VOIDED = "policy_blocked/consent_voided";
const other = (): unknown => ({ path: "/etc" });

describe("a decision about arguments", () => {
  it.each(["any", "no", undefined] as const)("is void once a layer of trait %s passes other ones on", async (trait) => {
    expect(await run(decide(), rewrite(trait, other))).toBe(VOIDED);
  });

  it.each(["own_field", "mask"] as const)("stands through a layer of trait %s", async (trait) => {
    expect(
      await run(
        decide(),
        rewrite(trait, (args: object) => ({ ...args, own: 1 })),
      ),
    ).toBe("ok/-");
  });

  it("stays void through a permitted rewriter further in or further out", async () => {
    const own = rewrite("own_field", (args: object) => ({ ...args, own: 1 }));
    expect(await run(decide(), rewrite("any", other), own)).toBe(VOIDED);
    expect(await run(decide(), own, rewrite("any", other))).toBe(VOIDED);
    expect(await run(decide(), own, rewrite("any", other), own)).toBe(VOIDED);
    expect(await run(decide(), own, own)).toBe("ok/-");
  });

  it("is void for a change in place, also by a layer that may rewrite only by passing on a new call", async () => {
    expect(await run(decide(), mutate())).toBe(VOIDED);
    expect(await run(decide(), mutate("own_field"))).toBe(VOIDED);
    const own = rewrite("own_field", (args: object) => ({ ...args, own: 1 }));
    expect(await run(decide(), mutate(), own)).toBe(VOIDED);
  });

  it("stands for an equal copy, and for arguments that were changed and changed back", async () => {
    expect(
      await run(
        decide(),
        rewrite("any", (args: object) => ({ ...args })),
      ),
    ).toBe("ok/-");
    expect(
      await run(
        decide(),
        rewrite("any", other),
        rewrite("any", () => ({ path: "/tmp" })),
      ),
    ).toBe("ok/-");
  });

  it("does not concern what stood outside of it", async () => {
    expect(await run(rewrite("any", other), decide())).toBe("ok/-");
  });

  it("holds by identity for arguments that have no digest", async () => {
    const none = decide(() => null);
    expect(await run(none)).toBe("ok/-");
    expect(
      await run(
        none,
        rewrite("any", (args: object) => ({ ...args })),
      ),
    ).toBe(VOIDED);
    const onceOnly = (): ((args: unknown) => string | null) => {
      let digests = 0;
      return () => {
        digests += 1;
        return digests === 1 ? "digest" : null;
      };
    };
    expect(await run(decide(onceOnly()))).toBe(VOIDED);
  });

  it("holds for nothing without a digest as soon as a layer does not say that it leaves the arguments as they are", async () => {
    const inPlace: ToolCaller = (call, next) => {
      (call.toolArgs as { path: string }).path = "/etc/shadow";
      return next(call);
    };
    expect(
      await run(
        decide(() => null),
        inPlace,
      ),
    ).toBe(VOIDED);
  });

  it("holds together with an outer decision that compares in another way", async () => {
    const lax = decide(() => "always the same");
    expect(await run(decide(), lax, rewrite("any", other))).toBe(VOIDED);
    expect(await run(lax, decide(), rewrite("any", other))).toBe(VOIDED);
    expect(await run(decide(), rewrite("any", other), lax)).toBe(VOIDED);
    expect(await run(decide(), rewrite("any", other), decide())).toBe(VOIDED);
    expect(await run(lax, lax, rewrite("any", other))).toBe("ok/-");
    const own = rewrite("own_field", (args: object) => ({ ...args, own: 1 }));
    expect(await run(decide(), lax, own, rewrite("any", other))).toBe(VOIDED);
    expect(await run(decide(), lax, own)).toBe("ok/-");
  });

  it("that cannot be compared any more blocks the call", async () => {
    let digests = 0;
    const throwsLater = decide(() => {
      digests += 1;
      if (digests > 1) throw new Error("digest");
      return "d";
    });
    expect(await run(throwsLater)).toBe("tool_middleware_exception/unreadable_call");
  });

  it("is void when the validator changes the arguments in place", async () => {
    const validator = async ({ toolArgs }: { toolArgs: unknown }) => {
      (toolArgs as { path: string }).path = "/etc";
      return [];
    };
    const dispatch = createDispatcher([decide()], { validator });
    expect(statusLine(await dispatch({ toolName: "t", toolArgs: { path: "/tmp" } }, echo))).toBe(VOIDED);
  });

  it("concerns its own attempt: a later one is judged anew", async () => {
    const observer = recordingObserver();
    const firstOther: ToolCaller = async (call, next) => {
      await next({ ...call, toolArgs: other() });
      return next(call);
    };
    const dispatch = createDispatcher([observer.caller, decide(), firstOther]);
    const result = await dispatch({ toolName: "t", toolArgs: { path: "/tmp" } }, echo);
    expect(statusLine(result)).toBe("ok/-");
    const leaves = observer.only().spans.filter(({ kind }) => kind === "leaf");
    expect(leaves.map(({ leaf }) => leaf?.status)).toEqual(["policy_blocked", "ok"]);
  });

  it("does not stand above the policy in force", async () => {
    const result = await withExecutionPolicy({ deniedTools: ["t"] }, () =>
      createDispatcher([decide()])({ toolName: "t" }, echo),
    );
    expect(statusLine(result)).toBe("policy_blocked/policy_blocked");
  });

  it("lets a call run exactly if what runs equals what was judged, for any stack of rewriters", async () => {
    const step = fc.record({
      kind: fc.constantFrom("decide", "any", "copy", "mutate", "pass"),
      to: fc.constantFrom("a", "b"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
        let current = "a";
        const judged: string[] = [];
        let broken = false;
        const layers = steps.map(({ kind, to }): ToolCaller => {
          if (kind === "decide") return decide();
          if (kind === "any") return rewrite("any", () => ({ v: to }));
          if (kind === "copy") return rewrite(undefined, (args: object) => ({ ...args }));
          if (kind === "mutate") {
            return (call, next) => {
              (call.toolArgs as { v: string }).v = to;
              return next(call);
            };
          }
          return (call, next) => next(call);
        });
        for (const { kind, to } of steps) {
          if (kind === "decide") judged.push(current);
          else if (kind === "any" || kind === "mutate") current = to;
        }
        broken = judged.some((value) => value !== current);
        const result = await createDispatcher(layers)({ toolName: "t", toolArgs: { v: "a" } }, echo);
        expect(statusLine(result)).toBe(broken ? VOIDED : "ok/-");
      }),
      { numRuns: 200 },
    );
  });
});
