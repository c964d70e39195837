/** What a dispatcher is for those who use one: loops, adapters, programs. */

import type { StackDescription } from "../order/describe.ts";
import type { Finding } from "../order/lint.ts";
import type { ToolCallAuditEvent } from "../vocabulary/audit.ts";
import type { Classification, Classify } from "../vocabulary/classify.ts";
import type { Clock } from "../vocabulary/clock.ts";
import type { Executor, ToolCall, ToolCallInput } from "../vocabulary/tool-call.ts";
import type { DispatchResult } from "../vocabulary/tool-result.ts";
import type { ArgsValidator } from "./args-validator.ts";
import type { ModelInfo, Report, RunInfo } from "./observer.ts";

/** Runs the tool: gets the call as the layers left it; returns a value, a promise, or an async iterable. */
export type ToolHandler = (call: ToolCall) => unknown;

/** An outcome that was decided before any layer ran (a limit, unparsable arguments, an unknown tool). */
export interface Refusal extends Classification {
  readonly executor?: Executor;
}

export interface DispatcherOptions {
  /** Turns a settled handler into an outcome. Default: `classifyByDefault`. */
  readonly classify?: Classify;
  /** Checks arguments at the terminal. */
  readonly validator?: ArgsValidator;
  /** Hears the `tool_call_audit` event of each dispatch in which a layer set audit. */
  readonly onAudit?: (event: ToolCallAuditEvent) => void;
  /** What to do with the findings of order lint, once, when made. Default `"ignore"`. */
  readonly onFinding?: "ignore" | "warn" | "throw";
  /** Lets receipts be written behind the result; such a result claims none, and `drain` tells of failures. */
  readonly deferReceipts?: boolean;
  /** Longest silence of a streaming result before it counts as abandoned, milliseconds; 0 waits for ever. Default 60,000. */
  readonly streamIdleMs?: number;
  /** Where the time of a dispatch comes from. Default `createClock`. */
  readonly createClock?: () => Clock;
}

export interface FlushOptions {
  /** How long running streams may take to close, milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

export interface Dispatcher {
  /** One call is one dispatch. Never rejects: what went wrong is in the result. */
  (call: ToolCallInput, handler: ToolHandler | undefined): Promise<DispatchResult>;
  /** Runs `fn` as an agent run (`invoke_agent`), seen by every observer in the list. */
  run<T>(info: RunInfo, fn: (report: Report) => Promise<T>): Promise<T>;
  /** Runs `fn` as a model call (`chat`), seen by every observer in the list. */
  model<T>(info: ModelInfo, fn: (report: Report) => Promise<T>): Promise<T>;
  /** Records a dispatch that was decided without running any layer. */
  refuse(call: ToolCallInput, refusal: Refusal): Promise<DispatchResult>;
  /** Waits for deferred receipts; rejects with the first failure since the last drain. */
  drain(): Promise<void>;
  /** Passes everything held on to sinks and stores; a stream still open after `timeoutMs` is recorded as abandoned. */
  flush(options?: FlushOptions): Promise<void>;
  /** Flushes, then ends recorders and observers. Idempotent. */
  close(options?: FlushOptions): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  describe(): StackDescription;
  lint(): readonly Finding[];
}
