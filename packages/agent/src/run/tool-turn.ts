/** The tool calls of one turn: each is dispatched or refused, never dropped, and answered in emitted order. */

import {
  CAUSE,
  type Dispatcher,
  type DispatchResult,
  type Refusal,
  type ToolCallInput,
  type ToolResult,
  type Turn,
} from "@toolspan/core";
import type { ModelToolCall } from "../model/model.ts";
import { readArguments } from "../model/model-arguments.ts";
import type { ToolMessage } from "../transcript/message.ts";
import { readStream } from "../transcript/read-stream.ts";
import { renderResult } from "../transcript/render-result.ts";
import { orLeave } from "./abort.ts";
import type { AgentTools } from "./agent-tools.ts";
import { inOrder } from "./in-order.ts";
import type { CheckedLimits } from "./limits.ts";
import { withinRetryBudget } from "./retry-budget.ts";
import type { RunSignal } from "./run-signal.ts";
import type { RunStop } from "./run-stop.ts";

/** What became of one tool call. */
export interface CallReport {
  /** Which model call asked, 1-based. */
  readonly iteration: number;
  /** 0-based place among the calls of its turn. */
  readonly toolCallIndex: number;
  readonly toolName: string;
  readonly callId: string | null;
  /** Null when the run was aborted and the call did not end in time: it is recorded whenever it does. */
  readonly result: ToolResult | null;
  /** What a streaming tool yielded. */
  readonly streamed?: readonly unknown[];
  /** What the model is told. */
  readonly content: string;
}

/** What a turn's calls share with their run. */
export interface ToolTurn {
  readonly dispatcher: Dispatcher;
  readonly tools: AgentTools;
  readonly limits: CheckedLimits;
  readonly signal: RunSignal;
  readonly stop: RunStop;
  readonly turn: Turn;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  /** Takes one tool call out of the budget; false when that is spent. */
  spendCall(): boolean;
  /** Takes one further attempt out of the budget; false when that is spent. */
  spendRetry(): boolean;
  /** Waits for deferred receipts, stopping the run on a failure. */
  drain(): Promise<void>;
}

/**
 * Answers every call, in emitted order.
 *
 * @throws The value that a tool threw, once all calls are recorded, where a result says `rethrow`.
 */
export async function runToolTurn(run: ToolTurn, asked: readonly ModelToolCall[]): Promise<readonly CallReport[]> {
  const reports = await inOrder(asked, run.limits.maxConcurrentTools, (call, position) =>
    answerCall(run, call, position),
  );
  for (const { result } of reports) {
    if (result !== null && raises(result)) throw result[CAUSE];
  }
  return reports;
}

/** The answer as the conversation keeps it. */
export function toToolMessage({ callId, toolName, content, result }: CallReport): ToolMessage {
  return { role: "tool", toolCallId: callId, toolName, content, isError: result?.ok !== true };
}

async function answerCall(run: ToolTurn, asked: ModelToolCall, toolCallIndex: number): Promise<CallReport> {
  const withinBudget = run.spendCall();
  const { tools, limits, meta } = run;
  const turn: Turn = { ...run.turn, toolCallIndex };
  const { signal, release } = run.signal.forCall(tools.get?.(asked.name)?.timeoutMs ?? limits.callTimeoutMs);
  try {
    const call = tools.toCall(asked.name, {
      ...readArguments(asked.rawArgs),
      callId: asked.id,
      turn,
      ...(signal === undefined ? {} : { signal }),
      ...(meta === undefined ? {} : { meta }),
    });
    const refusal = (withinBudget ? undefined : overBudget(run)) ?? (await refusalOf(run, call));
    const answer = refusal
      ? { result: await run.dispatcher.refuse(call, refusal) }
      : await dispatch(run, call, turn, signal);
    noteFailure(run.stop, answer.result);
    const { iteration } = turn;
    const content = answer.result === null ? "the call was left running" : renderResult(answer.result, answer.streamed);
    return { iteration, toolCallIndex, toolName: asked.name, callId: asked.id, content, ...answer };
  } finally {
    release();
  }
}

type Answer = Pick<CallReport, "result" | "streamed">;

async function dispatch(
  run: ToolTurn,
  call: ToolCallInput,
  turn: Turn,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const found = run.tools.handler(call.toolName, turn);
  const limited = found !== undefined && run.limits.maxRetries !== Number.POSITIVE_INFINITY;
  const handler = limited ? withinRetryBudget(found, () => run.spendRetry()) : found;
  const whole = run.dispatcher(call, handler).then((result) => wholeAnswer(result, signal));
  return (await orLeave(whole, signal, run.limits.abortGraceMs)) ?? { result: null };
}

async function wholeAnswer(result: DispatchResult, signal: AbortSignal | undefined): Promise<Answer> {
  if (result.settled === undefined) return { result };
  const read = await readStream(result, result.settled, signal);
  return { result: read.result, streamed: read.items };
}

function overBudget({ stop, limits }: ToolTurn): Refusal {
  stop.say("max_tool_calls");
  return limitRefusal(`a run may make ${limits.maxToolCalls} tool calls, and this is one more`);
}

async function refusalOf(run: ToolTurn, call: ToolCallInput): Promise<Refusal | undefined> {
  const { toolName, toolArgs, known } = call;
  if (known === false) {
    return { status: "tool_not_found", errorCategory: "tool_not_found", error: `there is no tool ${toolName}` };
  }
  if (toolArgs === undefined) {
    const error = "the arguments are not valid JSON";
    return { status: "schema_violation", errorCategory: "unparsable_arguments", error };
  }
  await run.drain();
  return stoppedRefusal(run);
}

function stoppedRefusal({ stop, signal, limits }: ToolTurn): Refusal | undefined {
  const reason = stop.reason ?? signal.cause;
  switch (reason) {
    case undefined:
      return undefined;
    case "aborted":
      return { status: "aborted", errorCategory: "aborted", error: "the run was aborted before this call" };
    case "deadline":
      return limitRefusal(`the run's ${limits.deadlineMs} ms had passed before this call`);
    default:
      return { status: "policy_blocked", errorCategory: "run_stopped", error: "the run had stopped before this call" };
  }
}

function limitRefusal(error: string): Refusal {
  return { status: "policy_blocked", errorCategory: "limit_exceeded", error };
}

/** Without receipts nothing more may run; what will be thrown ends the run as well. */
function noteFailure(stop: RunStop, result: ToolResult | null): void {
  if (result === null) return;
  if (result.errorCategory === "receipt_failed") stop.say("receipt_failed", result[CAUSE]);
  else if (raises(result)) stop.say("raised", result[CAUSE]);
}

function raises(result: ToolResult): boolean {
  return result.rethrow === true && CAUSE in result;
}
