// Laws of the roles: recorders and observers are hoisted, share one hasher, and are described where they run.
import { plainHasher } from "@toolspan/canonical/hash";
import {
  composeToolCallers,
  createDispatcher,
  defineLayer,
  diagnostics,
  type Hasher,
  type LayerTraits,
  type Observer,
  observerCaller,
  type ToolCaller,
} from "@toolspan/core";
import { describe, expect, it } from "vitest";
import { echo, named, pass, saying } from "../support/kernel-parts.ts";
import { type RecordedDispatch, recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

const code = (wanted: string) => expect.objectContaining({ code: wanted });

describe("a second recorder", () => {
  it("of the same name is refused when composed, nested or not", () => {
    const [one, two] = [recordingRecorder().caller, recordingRecorder().caller];
    for (const layers of [
      [one, two],
      [one, pass, composeToolCallers([pass, composeToolCallers([two])])],
      [one, one],
    ]) {
      expect(() => createDispatcher(layers)).toThrow(code("TOOLSPAN_SECOND_RECORDER"));
    }
  });

  it("of another name records beside the first, and both references have to hold", async () => {
    const first = recordingRecorder();
    const failure = { error: new Error("full") };
    const second = recordingRecorder({ name: "ledger", reply: () => ({ receipt: { level: "failed" }, failure }) });
    const result = await createDispatcher([first.caller, second.caller])({ toolName: "t" }, echo);
    expect([first.outcomes.length, second.outcomes.length]).toEqual([1, 1]);
    expect([result.errorCategory, result.audit?.receipt_uri]).toEqual(["receipt_failed", undefined]);
  });
});

describe("a second observer", () => {
  it("of the same kind is merged where it can be, and makes no second root", async () => {
    const seen: string[] = [];
    const mergeable = (sinks: readonly string[]): Observer => {
      const { caller } = recordingObserver();
      const base = Object.getOwnPropertySymbols(caller).map(
        (symbol) => (caller as never)[symbol],
      )[0] as unknown as Observer;
      return {
        ...base,
        merge: (other) => mergeable([...sinks, ...((other as unknown as { sinks: string[] }).sinks ?? [])]),
        dispatch(scope) {
          seen.push(sinks.join("+"));
          return base.dispatch(scope);
        },
        sinks,
      } as Observer;
    };
    const layers = [observerCaller(mergeable(["a"])), pass, observerCaller(mergeable(["b"])), observerCaller(mergeable(["c"]))]; // biome-ignore format: one list
    await createDispatcher(layers)({ toolName: "t" }, echo);
    expect(seen).toEqual(["a+b+c"]);
  });

  it("of another kind watches beside the first", async () => {
    const [one, two] = [recordingObserver(), recordingObserver({ name: "other" })];
    await createDispatcher([one.caller, pass, two.caller])({ toolName: "t" }, echo);
    expect(one.tree()).toBe(two.tree());
    expect(one.only().scope).toBe(two.only().scope);
  });
});

describe("the hasher", () => {
  const redacting = plainHasher({ redact: ["pin"] });
  const keyed = (keyId: string): Hasher => ({ ...plainHasher(), mode: "hmac-sha256", keyId });

  it("that somebody configured serves all recorded values, whoever brought it", async () => {
    for (const configured of ["observer", "recorder"]) {
      const observer = recordingObserver({
        ...(configured === "observer" ? { hasher: redacting } : { defaultHasher: plainHasher() }),
      });
      const recorder = recordingRecorder(configured === "recorder" ? { hasher: redacting } : {});
      const args = { pin: "1234", n: 1 };
      await createDispatcher([observer.caller, recorder.caller])({ toolName: "t", toolArgs: args }, echo);
      const { dispatch, executedArgs, resultDigest } = recorder.only();
      const digest = redacting.value(args);
      expect([dispatch.argsDigest, executedArgs, resultDigest()]).toEqual([digest, digest, digest]);
      expect(digest.redacted).toEqual(["pin"]);
    }
  });

  it("is refused when two different ones were configured, and taken when two are alike", () => {
    const stack = (a: Hasher, b: Hasher): (() => unknown) => {
      const layers = [
        recordingObserver({ hasher: a }).caller,
        composeToolCallers([recordingRecorder({ hasher: b }).caller]),
      ];
      return () => createDispatcher(layers);
    };
    expect(stack(redacting, plainHasher({ redact: ["other"] }))).toThrow(code("TOOLSPAN_HASHER_CONFLICT"));
    expect(stack(keyed("a"), keyed("a"))).toThrow(code("TOOLSPAN_HASHER_CONFLICT"));
    expect(stack(plainHasher({ redact: ["a", "b"] }), plainHasher({ redact: ["b", "a"] }))).not.toThrow();
    const same = keyed("k");
    expect(stack(same, same)).not.toThrow();
  });

  it("is plain where nobody configured one, and is absent where nobody records", async () => {
    const recorder = recordingRecorder();
    await createDispatcher([recorder.caller])({ toolName: "t", toolArgs: { a: 1 } }, echo);
    expect(recorder.only().dispatch.argsDigest).toEqual(plainHasher().value({ a: 1 }));
    let seen: unknown;
    const look: ToolCaller = (call, next, scope) => {
      seen = [scope.dispatch.hasher, scope.dispatch.argsDigest];
      return next(call);
    };
    await createDispatcher([look])({ toolName: "t", toolArgs: { a: 1 } }, echo);
    expect(seen).toEqual([null, null]);
  });

  it("reads the arguments of a watched call not at all where the observer hashes nothing", async () => {
    const observer = recordingObserver();
    const touched: PropertyKey[] = [];
    const args = new Proxy({ a: 1 }, { ownKeys: (target) => { touched.push("keys"); return Reflect.ownKeys(target); } }); // biome-ignore format: one proxy
    await createDispatcher([observer.caller, pass])({ toolName: "t", toolArgs: args }, () => 1);
    expect([touched, observer.only().scope.argsDigest]).toEqual([[], null]);
  });

  it("that throws refuses the hash, never the call", async () => {
    const broken = new Proxy(plainHasher(), {
      get(target, key) {
        if (key === "mode" || key === "redact" || key === "keyId") return Reflect.get(target, key) as unknown;
        return () => {
          throw new Error("hasher");
        };
      },
    });
    const recorder = recordingRecorder({ hasher: broken });
    const rewrite: ToolCaller = (call, next) => next({ ...call, toolArgs: 2 });
    const dispatch = createDispatcher([recorder.caller, rewrite]);
    expect((await dispatch({ toolName: "t", toolArgs: 1 }, echo)).result).toBe(2);
    const { dispatch: scope, executedArgs, resultDigest } = recorder.only();
    const hashes = [scope.argsDigest, executedArgs, resultDigest()].map((digest) => digest?.hash);
    expect(hashes).toEqual(["refused:hasher_threw", "refused:hasher_threw", "refused:hasher_threw"]);
  });

  it("hashes the raw text of arguments that could not be parsed", async () => {
    const recorder = recordingRecorder();
    await createDispatcher([recorder.caller])({ toolName: "t", rawArgs: '{"a":' }, echo);
    expect(recorder.only().dispatch.argsDigest).toEqual(plainHasher().text('{"a":'));
    expect(recorder.only().executedArgs).toBeNull();
  });
});

describe("describe()", () => {
  it("prints observers and recorders above index 0, and the layers in the order in which they really run", async () => {
    const said: string[] = [];
    const [observer, recorder] = [recordingObserver(), recordingRecorder()];
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => saying(name, said)) as [
      ToolCaller,
      ToolCaller,
      ToolCaller,
      ToolCaller,
    ];
    const layers = [a, composeToolCallers([b, recorder.caller, composeToolCallers([c])]), observer.caller, d] as ToolCaller[]; // biome-ignore format: one list
    const dispatch = createDispatcher(layers);
    expect(
      dispatch
        .describe()
        .toString()
        .split("\n")
        .map((row) => row.trim()),
    ).toEqual(["observer with_telemetry", "recorder with_audit_log", "0 a", "1 b", "2 c", "3 d"]);
    await dispatch({ toolName: "t" }, echo);
    const described = dispatch
      .describe()
      .layers.filter(({ role }) => role === "layer")
      .map(({ name }) => name);
    expect(said.slice(0, 4)).toEqual(described.map((name) => `>${name}`));
    const { spans } = observer.dispatches[0] as RecordedDispatch;
    expect(spans.filter(({ kind }) => kind === "layer").map(({ name }) => name)).toEqual(described);
    expect(composeToolCallers(layers).describe().layers).toEqual(dispatch.describe().layers);
  });
});

describe("lint()", () => {
  const layer = (name: string, traits: LayerTraits): ToolCaller => defineLayer({ name, traits, call: pass });
  const rules = (...layers: ToolCaller[]): string[] =>
    createDispatcher(layers)
      .lint()
      .map(({ severity, rule }) => `${severity} ${rule}`);

  const decide = layer("decide", { decides: true });
  const rewrite = layer("rewrite", { rewritesArgs: "any" });
  const cache = layer("cache", { caches: true });
  const redact = layer("redact", { redacts: true, rewritesArgs: "mask" });
  const retry = layer("retry", { retries: true });
  const scope = layer("scope", { narrows: true });
  const limit = layer("limit", { limits: true });
  const deadline = layer("deadline", { abandons: true });

  it.each([
    ["a decider outside a rewriter", [decide, rewrite], ["error decider_outside_rewriter"]],
    ["a decider inside it", [rewrite, decide], []],
    ["a decider outside a layer that declares nothing", [decide, pass], []],
    ["a decider outside an own field", [decide, layer("own", { rewritesArgs: "own_field" })], []],
    ["a decider outside a mask", [decide, redact], []],
    ["a cache outside redaction", [cache, redact], ["error cache_outside_redaction"]],
    ["a cache inside it", [redact, cache], []],
    ["a retry outside a decider", [retry, decide], ["warning retry_outside_decider"]],
    ["a retry inside it", [decide, retry], []],
    ["a retry outside a retry", [retry, retry], ["warning retry_outside_retry"]],
    ["a cache outside a decider", [cache, decide], ["warning cache_outside_decider"]],
    ["a cache inside it", [decide, cache], []],
    ["a cache outside a scope", [cache, scope], ["warning cache_outside_scope"]],
    ["a cache inside it", [scope, cache], []],
    ["a cache outside a rewriter", [cache, rewrite], ["info cache_outside_rewriter"]],
    ["a cache inside it", [rewrite, cache], []],
    ["a decider outside a scope", [decide, scope], ["info decider_outside_scope"]],
    ["a decider inside it", [scope, decide], []],
    ["a deadline outside a decider", [deadline, decide], ["info deadline_outside_decider"]],
    ["a deadline inside it", [decide, deadline], []],
    ["a limiter on either side of a retry", [limit, retry, limit], []],
    ["a deadline on either side of a retry", [deadline, retry, deadline], []],
    ["layers that declare nothing, whatever they do", [pass, pass, composeToolCallers([pass, pass])], []],
    ["a recorder listed last", [pass, recordingRecorder().caller], ["info recorder_listed_last"]],
    ["a recorder alone", [recordingRecorder().caller], []],
    [
      "bad orders through compositions",
      [decide, composeToolCallers([pass, rewrite])],
      ["error decider_outside_rewriter"],
    ],
  ] as const)("speaks of %s as it should", (_, layers, findings) => {
    expect(rules(...layers)).toEqual(findings);
  });

  it("has one sentence for each finding: what is wrong between which two, and what to do", () => {
    const stack = [cache, retry, retry, deadline, decide, scope, redact, rewrite];
    const findings = createDispatcher(stack).lint();
    expect(new Set(findings.map(({ rule }) => rule)).size).toBe(9);
    for (const { message } of findings) {
      expect(message).toMatch(/^[a-z]+ .+; (put [a-z]+ outside [a-z]+|keep one of them)$/);
      expect(message.slice(0, -1)).not.toContain(". ");
    }
  });

  it("says in one sentence what to move where", () => {
    const [finding] = createDispatcher([decide, pass, rewrite]).lint();
    expect(finding?.message).toBe(
      "decide judges arguments that rewrite rewrites afterwards, which voids the decision; put rewrite outside decide",
    );
  });

  it("refuses, warns or is silent when made, from warning up", () => {
    const heard: string[] = [];
    const stop = diagnostics.listen(({ message }) => heard.push(message));
    diagnostics.reset();
    expect(() => createDispatcher([retry, decide], { onFinding: "throw" })).toThrow(code("TOOLSPAN_LINT"));
    expect(() =>
      createDispatcher([named("p", pass), recordingRecorder().caller], { onFinding: "throw" }),
    ).not.toThrow();
    createDispatcher([retry, decide]);
    expect(heard).toEqual([]);
    createDispatcher([retry, decide], { onFinding: "warn" });
    createDispatcher([retry, decide], { onFinding: "warn" });
    expect(heard).toHaveLength(1);
    stop();
  });
});
