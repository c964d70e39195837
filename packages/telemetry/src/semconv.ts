/**
 * Names of the OpenTelemetry conventions, copied: no package carries the GenAI set, and its own page asks libraries to copy.
 *
 * @source open-telemetry/semantic-conventions-genai, model and docs as of 2026-08-03 (fe5608e249d6), `gen_ai.conversation.id`
 * on tool spans as of 2026-09 (#518); core conventions v1.44.0. Copied 2026-11-30. Stability: Development, `error.type` Stable.
 */

/** Schema of the instrumentation scope. */
export const SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev";

export const ATTR_ERROR_TYPE = "error.type";
export const ATTR_EXCEPTION_TYPE = "exception.type";
export const ATTR_EXCEPTION_MESSAGE = "exception.message";
export const ATTR_EXCEPTION_STACKTRACE = "exception.stacktrace";
export const EVENT_EXCEPTION = "exception";

export const ATTR_GEN_AI_OPERATION_NAME = "gen_ai.operation.name";
export const ATTR_GEN_AI_PROVIDER_NAME = "gen_ai.provider.name";
export const ATTR_GEN_AI_AGENT_NAME = "gen_ai.agent.name";
export const ATTR_GEN_AI_CONVERSATION_ID = "gen_ai.conversation.id";
export const ATTR_GEN_AI_REQUEST_MODEL = "gen_ai.request.model";
export const ATTR_GEN_AI_RESPONSE_MODEL = "gen_ai.response.model";
export const ATTR_GEN_AI_RESPONSE_FINISH_REASONS = "gen_ai.response.finish_reasons";
export const ATTR_GEN_AI_USAGE_INPUT_TOKENS = "gen_ai.usage.input_tokens";
export const ATTR_GEN_AI_USAGE_OUTPUT_TOKENS = "gen_ai.usage.output_tokens";
export const ATTR_GEN_AI_TOOL_NAME = "gen_ai.tool.name";
export const ATTR_GEN_AI_TOOL_TYPE = "gen_ai.tool.type";
export const ATTR_GEN_AI_TOOL_CALL_ID = "gen_ai.tool.call.id";

/** Opt-in content. */
export const ATTR_GEN_AI_TOOL_DESCRIPTION = "gen_ai.tool.description";
export const ATTR_GEN_AI_TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments";
export const ATTR_GEN_AI_TOOL_CALL_RESULT = "gen_ai.tool.call.result";
export const ATTR_GEN_AI_INPUT_MESSAGES = "gen_ai.input.messages";
export const ATTR_GEN_AI_OUTPUT_MESSAGES = "gen_ai.output.messages";

export const OPERATION_EXECUTE_TOOL = "execute_tool";
export const OPERATION_INVOKE_AGENT = "invoke_agent";
export const OPERATION_CHAT = "chat";
export const TOOL_TYPE_FUNCTION = "function";
export const TOOL_TYPE_EXTENSION = "extension";
/** Stands for a value that would not be of low cardinality. */
export const OTHER = "_OTHER";

export const METRIC_EXECUTE_TOOL_DURATION = "gen_ai.execute_tool.duration";
export const METRIC_INVOKE_AGENT_DURATION = "gen_ai.invoke_agent.duration";
export const METRIC_INVOKE_AGENT_TOOL_CALLS = "gen_ai.invoke_agent.tool_calls";
export const METRIC_INVOKE_AGENT_INFERENCE_CALLS = "gen_ai.invoke_agent.inference_calls";
export const METRIC_CLIENT_OPERATION_DURATION = "gen_ai.client.operation.duration";

/** Bucket boundaries of tool and model durations, seconds. */
export const BUCKETS_OPERATION: readonly number[] = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
/** Bucket boundaries of whole agent runs, seconds. */
export const BUCKETS_AGENT: readonly number[] = [
  0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6,
];
/** Bucket boundaries of counts of calls. */
export const BUCKETS_CALLS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128];

export const ATTR_SERVICE_NAME = "service.name";
export const ATTR_SERVICE_VERSION = "service.version";
export const ATTR_SERVICE_INSTANCE_ID = "service.instance.id";
export const ATTR_DEPLOYMENT_ENVIRONMENT_NAME = "deployment.environment.name";
export const ATTR_TELEMETRY_SDK_LANGUAGE = "telemetry.sdk.language";
export const ATTR_TELEMETRY_SDK_NAME = "telemetry.sdk.name";
export const ATTR_TELEMETRY_SDK_VERSION = "telemetry.sdk.version";
export const ATTR_TELEMETRY_DISTRO_NAME = "telemetry.distro.name";
export const ATTR_TELEMETRY_DISTRO_VERSION = "telemetry.distro.version";
