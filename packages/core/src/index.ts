/** Toolspan's core: the vocabulary, the composition kernel and the ports. */

export { type Diagnostic, type DiagnosticListener, diagnostics } from "./diagnostics.ts";
export { ERROR_CODES, kindOf, quote, ToolspanError, type ToolspanErrorCode } from "./errors.ts";
export { type ComposedToolCaller, composeToolCallers, defaultToolCaller } from "./kernel/compose.ts";
export { defineLayer } from "./kernel/define-layer.ts";
export { createDispatcher } from "./kernel/dispatcher.ts";
export { failedResult } from "./kernel/failed-result.ts";
export type { DescribedLayer, StackDescription } from "./order/describe.ts";
export type { Finding, Severity } from "./order/lint.ts";
export { compilePolicy } from "./policy/compile-policy.ts";
export {
  type ArgConstraint,
  type ExecutionPolicy,
  type PolicyCheck,
  type PolicyViolation,
  underPolicyCheck,
  withExecutionPolicy,
} from "./policy/policy.ts";
export type { ArgsProblem, ArgsValidator } from "./ports/args-validator.ts";
export type { DispatchScope, TraceRef } from "./ports/dispatch-scope.ts";
export type { Dispatcher, DispatcherOptions, Refusal, ToolHandler } from "./ports/dispatcher-port.ts";
export type { Digest, HashDomain, Hasher, HashMode, SequenceDigest } from "./ports/hasher.ts";
export type { Layer, LayerDefinition, LayerScope, LayerTraits, Next, RewritesArgs, ToolCaller } from "./ports/layer.ts";
export { type Meter, noopMeter } from "./ports/meter.ts";
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
} from "./ports/observer.ts";
export type { DispatchOutcome, LateSettlement, ObservedOutcome } from "./ports/outcome.ts";
export type { Intent, ReceiptLevel, ReceiptRef, Recorder, RecorderReply } from "./ports/recorder.ts";
export { type ObserverCaller, observerCaller, type RecorderCaller, recorderCaller } from "./ports/roles.ts";
export { fanOut, noopSink, type Sink } from "./ports/sink.ts";
export { declaresProperty, omitProperties } from "./registry/object-schema.ts";
export { type CallFields, createToolRegistry, type ToolRegistry } from "./registry/registry.ts";
export { type SchemaEntry, type SchemaTransform, toolInjectParam, toolsUseMiddleware } from "./registry/schema-seam.ts";
export { isStandardSchema, type JsonSchema, type StandardSchema, toArgsProblems } from "./registry/standard-schema.ts";
export type { ModelTool } from "./registry/tool-binding.ts";
export {
  defineTool,
  type NameRule,
  type Tool,
  type ToolDefinition,
  type TypedToolDefinition,
} from "./registry/tool-definition.ts";
export { type AuditBlob, type AuditKind, mergeAudit, type ToolCallAuditEvent } from "./vocabulary/audit.ts";
export { type Classification, type Classify, classifyByDefault, type Settled } from "./vocabulary/classify.ts";
export {
  type Clock,
  createClock,
  elapsedMs,
  type Reading,
  stoppedClock,
  toHrTime,
  toRfc3339,
  toUnixNano,
} from "./vocabulary/clock.ts";
export {
  type Attributes,
  type AttributeValue,
  type LayerRecord,
  type LayerRun,
  toLayerRecord,
} from "./vocabulary/record.ts";
export { isToolStatus, STATUSES, type ToolStatus } from "./vocabulary/status.ts";
export type {
  Executor,
  SideEffectLevel,
  ToolAnnotations,
  ToolCall,
  ToolCallInput,
  Turn,
} from "./vocabulary/tool-call.ts";
export { CAUSE, type DispatchResult, isCompleteResult, type ToolResult } from "./vocabulary/tool-result.ts";
export { uuidv7 } from "./vocabulary/uuid.ts";
