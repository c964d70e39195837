/** What needs `@langfuse/otel`: a sink that sends finished spans to Langfuse as its own observations. */

export type { LangfuseOptions } from "./langfuse/langfuse-settings.ts";
export { type LangfuseSink, langfuseSink } from "./langfuse/langfuse-sink.ts";
