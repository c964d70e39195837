// Outcomes of dispatches made by hand, for laws about what a receipt says of one.
import { plainHasher } from "@toolspan/canonical/hash";
import type { Clock, DispatchOutcome, DispatchResult, LayerRun, ToolCallInput } from "@toolspan/core";
import { toToolCall } from "../../packages/core/src/vocabulary/tool-call.ts";

/** A clock whose wall anchor and readings are known. */
export const steadyClock: Clock = { anchorSeconds: 1_800_000_000, anchorNanos: 123_456_789, now: () => 9_000_000 };

export interface OutcomeParts {
  readonly call?: Partial<ToolCallInput>;
  readonly result?: Partial<DispatchResult>;
  readonly runs?: readonly LayerRun[];
  readonly errorType?: string;
  readonly trace?: { readonly traceId: string; readonly spanId: string; readonly sampled: boolean } | null;
  readonly redact?: readonly string[];
}

export function layerRun(name: string, extra: Partial<LayerRun> = {}): LayerRun {
  return {
    name,
    index: 0,
    depth: 0,
    attempt: 1,
    status: "ok",
    startedAt: 1_000_000,
    endedAt: 5_000_000,
    selfTime: 250_000,
    shortCircuited: false,
    argsChanged: false,
    errorType: undefined,
    attributes: undefined,
    ...extra,
  };
}

export function outcomeOf({
  call: input,
  result,
  runs = [],
  errorType,
  trace = null,
  redact = [],
}: OutcomeParts = {}): DispatchOutcome {
  const hasher = plainHasher({ redact });
  const call = toToolCall({
    toolName: "add",
    toolArgs: { a: 1 },
    callId: "call_1",
    turn: { iteration: 1, sessionId: "s" },
    ...input,
  });
  const argsDigest = hasher.value(call.toolArgs);
  const whole: DispatchResult = {
    ok: true,
    status: "ok",
    toolName: call.toolName,
    toolCallId: call.callId,
    executed: true,
    executionDurationMs: 1,
    result: 2,
    ...result,
  };
  return {
    dispatch: {
      id: "01900000-0000-7000-8000-000000000001",
      call,
      clock: steadyClock,
      startedAt: 1_000_000,
      trace,
      hasher,
      argsDigest,
    },
    result: whole,
    errorType,
    runs,
    endedAt: 4_500_000,
    attempts: 1,
    executedArgs: argsDigest,
    executor: "local",
    resultDigest: () => hasher.value(whole.result),
  };
}
