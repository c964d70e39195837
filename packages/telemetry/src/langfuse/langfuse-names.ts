/**
 * Attribute names by which Langfuse recognises what a span says; a test holds them equal to the package's own.
 *
 * @source `LangfuseOtelSpanAttributes` of `@langfuse/core` 5.11.1. Copied 2026-11-30.
 */

export const ATTR_SESSION_ID = "session.id";
export const ATTR_TRACE_TAGS = "langfuse.trace.tags";
export const ATTR_TRACE_METADATA = "langfuse.trace.metadata";
export const ATTR_OBSERVATION_TYPE = "langfuse.observation.type";
export const ATTR_OBSERVATION_METADATA = "langfuse.observation.metadata";
export const ATTR_OBSERVATION_LEVEL = "langfuse.observation.level";
export const ATTR_OBSERVATION_STATUS_MESSAGE = "langfuse.observation.status_message";
export const ATTR_OBSERVATION_INPUT = "langfuse.observation.input";
export const ATTR_OBSERVATION_OUTPUT = "langfuse.observation.output";
export const ATTR_OBSERVATION_MODEL = "langfuse.observation.model.name";
export const ATTR_OBSERVATION_USAGE = "langfuse.observation.usage_details";
export const ATTR_ENVIRONMENT = "langfuse.environment";
export const ATTR_RELEASE = "langfuse.release";
/** Marks the span at which Langfuse's view of a trace begins, though its parent may be a span that Langfuse never gets. */
export const ATTR_IS_APP_ROOT = "langfuse.internal.is_app_root";
