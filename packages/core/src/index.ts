/** Toolspan's core: the vocabulary, the composition kernel and the ports. */

export type { ArgsProblem, ArgsValidator } from "./args-validator.ts";
export { type AuditBlob, type AuditKind, mergeAudit, type ToolCallAuditEvent } from "./audit.ts";
export { type Classification, type Classify, classifyByDefault, type Settled } from "./classify.ts";
export {
  type Clock,
  createClock,
  elapsedMs,
  type Reading,
  stoppedClock,
  toHrTime,
  toRfc3339,
  toUnixNano,
} from "./clock.ts";
export { compilePolicy } from "./compile-policy.ts";
export { type ComposedToolCaller, composeToolCallers, defaultToolCaller } from "./compose.ts";
export { defineLayer } from "./define-layer.ts";
export type { DescribedLayer, StackDescription } from "./describe.ts";
export { type Diagnostic, type DiagnosticListener, diagnostics } from "./diagnostics.ts";
export type { DispatchScope, TraceRef } from "./dispatch-scope.ts";
export { createDispatcher } from "./dispatcher.ts";
export type { Dispatcher, DispatcherOptions, Refusal, ToolHandler } from "./dispatcher-port.ts";
export { ERROR_CODES, kindOf, quote, ToolspanError, type ToolspanErrorCode } from "./errors.ts";
export { failedResult } from "./failed-result.ts";
export type { Digest, Hasher, HashMode, SequenceDigest } from "./hasher.ts";
export type { Layer, LayerDefinition, LayerScope, LayerTraits, Next, RewritesArgs, ToolCaller } from "./layer.ts";
export type { Finding, Severity } from "./lint.ts";
export { type Meter, noopMeter } from "./meter.ts";
export { declaresProperty, omitProperties } from "./object-schema.ts";
export type {
  DispatchObserver,
  LayerObserver,
  LayerStart,
  LeafEnd,
  LeafObserver,
  ModelInfo,
  Observer,
  OperationReport,
  RecorderObserver,
  Report,
  RunInfo,
  SpanObserver,
} from "./observer.ts";
export type { DispatchOutcome, LateSettlement, ObservedOutcome } from "./outcome.ts";
export {
  type ArgConstraint,
  type ExecutionPolicy,
  type PolicyCheck,
  type PolicyViolation,
  underPolicyCheck,
  withExecutionPolicy,
} from "./policy.ts";
export { type Attributes, type AttributeValue, type LayerRecord, type LayerRun, toLayerRecord } from "./record.ts";
export type { Intent, ReceiptLevel, ReceiptRef, Recorder, RecorderReply } from "./recorder.ts";
export { type CallFields, createToolRegistry, type ToolRegistry } from "./registry.ts";
export { type ObserverCaller, observerCaller, type RecorderCaller, recorderCaller } from "./roles.ts";
export { type SchemaEntry, type SchemaTransform, toolInjectParam, toolsUseMiddleware } from "./schema-seam.ts";
export { fanOut, noopSink, type Sink } from "./sink.ts";
export { isStandardSchema, type JsonSchema, type StandardSchema, toArgsProblems } from "./standard-schema.ts";
export { isToolStatus, STATUSES, type ToolStatus } from "./status.ts";
export type { ModelTool } from "./tool-binding.ts";
export type { Executor, SideEffectLevel, ToolAnnotations, ToolCall, ToolCallInput, Turn } from "./tool-call.ts";
export {
  defineTool,
  type NameRule,
  type Tool,
  type ToolDefinition,
  type TypedToolDefinition,
} from "./tool-definition.ts";
export { CAUSE, type DispatchResult, isCompleteResult, type ToolResult } from "./tool-result.ts";
export { uuidv7 } from "./uuid.ts";
