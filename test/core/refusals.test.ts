// Laws of what is decided before any layer, and of calls that cannot be read: recorded like any other, never a rejection.
import {
  CAUSE,
  createDispatcher,
  diagnostics,
  STATUSES,
  type ToolCall,
  type ToolCaller,
  type ToolCallInput,
  type ToolStatus,
  withExecutionPolicy,
} from "@toolspan/core";
import { beforeEach, describe, expect, it } from "vitest";
import { echo, named, pass, statusLine } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

beforeEach(() => diagnostics.listen(() => {}));

const trap = (): never => {
  throw new Error("trap");
};

function watched(...layers: ToolCaller[]) {
  const observer = recordingObserver();
  const recorder = recordingRecorder();
  return { observer, recorder, dispatch: createDispatcher([observer.caller, recorder.caller, ...layers]) };
}

describe("refuse()", () => {
  it("records a dispatch and runs no layer", async () => {
    let ran = 0;
    const counts: ToolCaller = (call, next) => {
      ran += 1;
      return next(call);
    };
    const { dispatch, observer, recorder } = watched(counts);
    const call = { toolName: "t", toolArgs: { a: 1 }, callId: "c", declaredExecutor: "mcp_server" } as const;
    const refusal = { status: "policy_blocked", errorCategory: "limit_exceeded", error: "no more calls" } as const;
    const result = await dispatch.refuse(call, refusal);
    expect(result).toMatchObject({
      ok: false,
      status: "policy_blocked",
      errorCategory: "limit_exceeded",
      error: "no more calls",
      observation: "no more calls",
      toolCallId: "c",
      executor: "mcp_server",
      executed: false,
      executionDurationMs: 0,
    });
    expect([ran, observer.tree(), recorder.only().runs, recorder.only().attempts]).toEqual([0, "", [], 0]);
    expect([recorder.only().errorType, observer.only().ends[0]?.errorType]).toEqual([
      "limit_exceeded",
      "limit_exceeded",
    ]);
    expect([recorder.only().executedArgs, recorder.only().dispatch.argsDigest?.hash.startsWith("sha256:")]).toEqual([
      null,
      true,
    ]);
    expect(result.audit?.receipt_uri).toBeDefined();
  });

  it("takes every status of the table, and ok follows from it", async () => {
    for (const status of Object.keys(STATUSES) as ToolStatus[]) {
      const { dispatch, recorder } = watched();
      const result = await dispatch.refuse({ toolName: "t" }, { status });
      expect([result.status, result.ok, recorder.only().errorType]).toEqual([
        status,
        STATUSES[status].ok,
        STATUSES[status].error ? status : undefined,
      ]);
    }
  });

  it("refuses to be given no status of the table", async () => {
    for (const refusal of [undefined, {}, { status: "nope" }]) {
      const refused = createDispatcher([]).refuse({ toolName: "t" }, refusal as never);
      await expect(refused).rejects.toMatchObject({ code: "TOOLSPAN_INVALID_OPTION" });
    }
  });

  it("may name its executor", async () => {
    const result = await createDispatcher([]).refuse(
      { toolName: "t" },
      { status: "executor_error", executor: "host_bridge" },
    );
    expect(result.executor).toBe("host_bridge");
  });
});

describe("a call that cannot be read", () => {
  it.each([
    [undefined],
    [null],
    ["t"],
    [{}],
    [{ toolName: 7 }],
    [{ toolName: null, toolArgs: 1 }],
    [new Proxy({}, { ownKeys: trap })],
    [Object.defineProperty({ toolName: "t" }, "toolArgs", { get: trap, enumerable: true })],
    [Object.defineProperty({}, "toolName", { get: trap, enumerable: true })],
  ])("is recorded as refused, and the handler stays untouched: case %#", async (input) => {
    const { dispatch, observer, recorder } = watched(pass);
    let ran = 0;
    const result = await dispatch(input as never, () => void (ran += 1));
    expect([statusLine(result), ran]).toEqual(["tool_middleware_exception/invalid_call", 0]);
    const { call } = recorder.only().dispatch;
    expect([call.toolName, call.known, observer.only().ends.length]).toEqual(["_OTHER", false, 1]);
    const refused = await dispatch.refuse(input as never, { status: "policy_blocked" });
    expect(refused.errorCategory).toBe("invalid_call");
  });

  it.each([
    ["a signal whose state throws", { signal: Object.defineProperty({}, "aborted", { get: trap }) }],
    ["arguments that throw at every touch", { toolArgs: new Proxy({}, { get: trap, ownKeys: trap, has: trap, getPrototypeOf: trap, getOwnPropertyDescriptor: trap }) }], // biome-ignore format: one case
    ["a turn that throws", { turn: new Proxy({}, { get: trap }) }],
    ["a turn that is none", { turn: "x" }],
    ["a native object that throws", { native: new Proxy({}, { get: trap, ownKeys: trap }) }],
    ["revoked arguments", { toolArgs: (() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })() }], // biome-ignore format: one case
  ])("with %s ends in one result and one record", async (_, fields) => {
    const audits: ToolCaller = async (call, next) => ({ ...(await next(call)), audit: { summary: "s" } });
    const observer = recordingObserver();
    const recorder = recordingRecorder();
    const layers = [observer.caller, recorder.caller, named("audits", audits)];
    const dispatch = createDispatcher(layers, { onAudit: () => {}, validator: () => [] });
    const result = await dispatch({ toolName: "t", ...fields } as ToolCallInput, () => "ran");
    expect(typeof result.ok).toBe("boolean");
    expect([recorder.outcomes.length, observer.dispatches.length, observer.only().ends.length]).toEqual([1, 1, 1]);
  });

  it("fails closed where the terminal cannot check it", async () => {
    let ran = 0;
    const signal = Object.defineProperty({}, "aborted", { get: trap }) as AbortSignal;
    for (const layers of [[], [pass]]) {
      const result = await createDispatcher(layers)({ toolName: "t", signal }, () => void (ran += 1));
      expect([statusLine(result), result[CAUSE] instanceof Error]).toEqual([
        "tool_middleware_exception/unreadable_call",
        true,
      ]);
    }
    const capabilities = { files: null } as never;
    const result = await withExecutionPolicy({ capabilities: { files: ["read"] } }, () =>
      createDispatcher([])({ toolName: "t", capabilities }, () => void (ran += 1)),
    );
    expect([result.ok, ran]).toEqual([false, 0]);
  });

  it("is completed where fields are missing: known, no call id, turn 0, attempt 1", async () => {
    const seen: unknown[] = [];
    const see: ToolCaller = (call, next) => {
      seen.push(call);
      return next(call);
    };
    await createDispatcher([see])({ toolName: "t", attempt: 9 } as ToolCallInput, echo);
    expect(seen).toEqual([expect.objectContaining({ toolName: "t", callId: null, known: true, turn: { iteration: 0 }, attempt: 1 })]); // biome-ignore format: one row
  });

  it("with a clock that cannot be made runs on one of the kernel's own", async () => {
    const { caller, outcomes } = recordingRecorder();
    const result = await createDispatcher([caller], { createClock: trap })({ toolName: "t", toolArgs: 1 }, echo);
    expect([result.result, outcomes.length]).toEqual([1, 1]);
  });
});

describe("fields of a call that are not of their type", () => {
  it("are put right or left out before anything records them", async () => {
    const seen: ToolCall[] = [];
    const turn = { iteration: "x", sessionId: 7, runId: "r", agentName: null, toolCallIndex: 2 };
    const odd = [{ callId: 7 }, { callId: {} }, { callId: Symbol("id") }, { turn: null }, { turn }];
    for (const fields of odd) {
      await createDispatcher([])({ toolName: "t", ...fields } as never, (call) => void seen.push(call));
    }
    expect(seen.map(({ callId }) => callId)).toEqual(["7", null, null, null, null]);
    expect(seen.map(({ turn }) => turn).slice(3)).toEqual([
      { iteration: 0 },
      { iteration: 0, runId: "r", toolCallIndex: 2 },
    ]);
  });

  it("make the call invalid, recorded and not run, where they throw", async () => {
    const turn = {
      get agentName(): string {
        throw new Error("no name");
      },
    };
    const ran: unknown[] = [];
    const result = await createDispatcher([])({ toolName: "t", turn } as never, (call) => ran.push(call));
    expect([result.errorCategory, ran]).toEqual(["invalid_call", []]);
  });
});
