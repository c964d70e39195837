/** Makes a dispatcher of a list of layers: each call of it is one dispatch, one span, one receipt. */

import { kindOf, ToolspanError } from "../errors.ts";
import { describeStack } from "../order/describe.ts";
import { lintStack } from "../order/lint.ts";
import type { Dispatcher, DispatcherOptions, FlushOptions, Refusal, ToolHandler } from "../ports/dispatcher-port.ts";
import type { ToolCaller } from "../ports/layer.ts";
import type { ModelInfo, Report, RunInfo } from "../ports/observer.ts";
import { isToolStatus, STATUSES } from "../vocabulary/status.ts";
import { readToolCall, type ToolCallInput } from "../vocabulary/tool-call.ts";
import type { DispatchResult, ToolResult } from "../vocabulary/tool-result.ts";
import { DispatchRun } from "./dispatch-run.ts";
import { failedResult } from "./failed-result.ts";
import { finishDispatch, provisionalResult } from "./finish.ts";
import { listedRows, runningRows } from "./flatten.ts";
import { enter } from "./frame.ts";
import { runThroughAll, runWithin, tellSafely } from "./guard.ts";
import { OpenWork } from "./open-work.ts";
import { makePlan } from "./plan.ts";
import { redactModelInfo, redactReport } from "./redact.ts";

const DEFAULT_FLUSH_MS = 5000;

/**
 * Makes a dispatcher.
 *
 * Recorders and observers are hoisted around the whole stack, wherever they stand in the list; layers run
 * first-listed-outermost.
 *
 * @param layers A list of layers, or one composition of them.
 * @throws TOOLSPAN_INVALID_LAYER, TOOLSPAN_INVALID_OPTION, TOOLSPAN_SECOND_RECORDER, TOOLSPAN_HASHER_CONFLICT,
 * TOOLSPAN_LINT when made.
 */
export function createDispatcher(
  layers: ToolCaller | readonly ToolCaller[],
  options: DispatcherOptions = {},
): Dispatcher {
  checkIdle(options.streamIdleMs);
  const plan = makePlan(typeof layers === "function" ? [layers] : layers, options);
  const work = new OpenWork();
  const deferred = options.deferReceipts === true ? work : undefined;
  const parts = [...plan.recorders, ...plan.observers];
  const meter = plan.observers.find((observer) => observer.meter !== undefined)?.meter;
  if (meter !== undefined) for (const recorder of plan.recorders) tellSafely(() => recorder.useMeter?.(meter));

  function dispatch(input: ToolCallInput, handler: ToolHandler | undefined): Promise<DispatchResult> {
    const call = readToolCall(input);
    if (call === undefined) return refuseInvalid();
    const run = new DispatchRun(plan, options, call, handler);
    runWithin(run.observer, enterStack, run);
    return (run.answer as Promise<ToolResult>).then((answer) => end(run, answer));
  }

  async function refuse(input: ToolCallInput, refusal: Refusal): Promise<DispatchResult> {
    const call = readToolCall(input);
    if (call === undefined) return refuseInvalid();
    if (!isToolStatus(refusal?.status))
      throw invalidOption("refuse", "status", "a status of a result", kindOf(refusal?.status));
    const { status, errorCategory = status, error = status, executor } = refusal;
    const run = new DispatchRun(plan, options, call, undefined);
    const failed = {
      ...failedResult(call, status, errorCategory, error),
      executor: executor ?? call.declaredExecutor ?? null,
    };
    const { ok } = STATUSES[status];
    return end(run, ok ? { ...failed, ok, error: null, errorCategory: null } : failed);
  }

  function refuseInvalid(): Promise<DispatchResult> {
    const details = { layer: "dispatcher", received: "something without a toolName" };
    const error = new ToolspanError("TOOLSPAN_INVALID_CALL", details).message;
    const refusal: Refusal = { status: "tool_middleware_exception", errorCategory: "invalid_call", error };
    return refuse({ toolName: "_OTHER", known: false }, refusal);
  }

  function end(run: DispatchRun, answer: ToolResult): DispatchResult | Promise<DispatchResult> {
    if (run.streams === undefined) return finishDispatch(run, answer, deferred);
    const running = run.runningStream(answer);
    const drained = run.streams.find((stream) => stream !== running && stream.isOf(answer));
    const outcome = drained === undefined ? answer : withClosed(answer, drained.closed);
    for (const stream of run.streams) if (stream !== running) void stream.abandon();
    if (running === undefined) return finishDispatch(run, outcome, deferred);
    running.finishWith(async (closed) => finishDispatch(run, withClosed(answer, closed), deferred));
    work.addStream(running);
    return provisionalResult(run, answer);
  }

  async function flush({ timeoutMs = DEFAULT_FLUSH_MS }: FlushOptions = {}): Promise<void> {
    await work.settleStreams(timeoutMs);
    await inTurn([() => work.drain(), ...parts.map((part) => () => part.flush())]);
  }

  let closing: Promise<void> | undefined;
  async function close(given: FlushOptions = {}): Promise<void> {
    await inTurn([() => flush(given), ...parts.map((part) => () => part.close())]);
  }

  return Object.assign(dispatch, {
    run: <T>(info: RunInfo, fn: (report: Report) => Promise<T>): Promise<T> =>
      runThroughAll(plan.observers, (observer, inner) => observer.run(info, inner), fn),
    model: <T>(info: ModelInfo, fn: (report: Report) => Promise<T>): Promise<T> => {
      const seen = redactModelInfo(plan.redaction, info);
      return runThroughAll(
        plan.observers,
        (observer, inner) => observer.model(seen, inner),
        (report) => fn(redactReport(plan.redaction, report)),
      );
    },
    refuse,
    drain: () => work.drain(),
    flush,
    close: (given?: FlushOptions): Promise<void> => {
      closing ??= close(given);
      return closing;
    },
    [Symbol.asyncDispose]: (): Promise<void> => {
      closing ??= close();
      return closing;
    },
    describe: () => describeStack(runningRows(plan.flat)),
    lint: () => lintStack(runningRows(plan.flat), listedRows(plan.flat)),
  });
}

/** Takes every step, whatever becomes of the others, then fails with the first failure. */
async function inTurn(steps: readonly (() => Promise<void>)[]): Promise<void> {
  let failed: { readonly error: unknown } | undefined;
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failed ??= { error };
    }
  }
  if (failed !== undefined) throw failed.error;
}

function enterStack(run: DispatchRun): void {
  if (run.entered) return;
  run.entered = true;
  run.nextEntry(0);
  run.answer = enter(run, 0, run.call, null, null);
}

/** The layers' answer with what became of its stream: a failure of the stream is one, whatever was answered before it. */
function withClosed(answer: ToolResult, closed: ToolResult | undefined): ToolResult {
  if (closed === undefined || closed.ok || !answer.ok) return answer;
  const { result: _, ...outcome } = closed;
  return { ...answer, ...outcome };
}

function checkIdle(streamIdleMs: number | undefined): void {
  if (streamIdleMs === undefined || (Number.isFinite(streamIdleMs) && streamIdleMs >= 0)) return;
  const expected = "a number of milliseconds of at least 0";
  throw invalidOption("createDispatcher", "streamIdleMs", expected, String(streamIdleMs));
}

function invalidOption(subject: string, option: string, expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject, option, expected, received });
}
