/** A finished span as Langfuse's observation: a copy, under the same ids, that says in Langfuse's words what the span says. */

import { type Attributes, SpanStatusCode } from "@opentelemetry/api";
import { SCOPE_NAME } from "../names.ts";
import {
  ATTR_ERROR_TYPE,
  ATTR_GEN_AI_CONVERSATION_ID,
  ATTR_GEN_AI_INPUT_MESSAGES,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_OUTPUT_MESSAGES,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_RESPONSE_MODEL,
  ATTR_GEN_AI_TOOL_CALL_ARGUMENTS,
  ATTR_GEN_AI_TOOL_CALL_RESULT,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  OPERATION_CHAT,
  OPERATION_EXECUTE_TOOL,
  OPERATION_INVOKE_AGENT,
} from "../semconv.ts";
import type { ReadableSpan, SpanOrigin } from "../spans/readable-span.ts";
import * as names from "./langfuse-names.ts";
import type { LangfuseSettings } from "./langfuse-settings.ts";

const OWN = "toolspan.";

/** Operation to Langfuse's type of observation; every other span of ours is a `span`. */
const TYPES: Readonly<Record<string, string>> = {
  [OPERATION_EXECUTE_TOOL]: "tool",
  [OPERATION_CHAT]: "generation",
  [OPERATION_INVOKE_AGENT]: "agent",
};

/** Attributes that have a place of their own in Langfuse. */
const MOVED: Readonly<Record<string, string>> = {
  [ATTR_GEN_AI_TOOL_CALL_ARGUMENTS]: names.ATTR_OBSERVATION_INPUT,
  [ATTR_GEN_AI_TOOL_CALL_RESULT]: names.ATTR_OBSERVATION_OUTPUT,
  [ATTR_GEN_AI_INPUT_MESSAGES]: names.ATTR_OBSERVATION_INPUT,
  [ATTR_GEN_AI_OUTPUT_MESSAGES]: names.ATTR_OBSERVATION_OUTPUT,
};

/** What an SDK's exporters and processors want to find on an ended span. */
export interface Observation extends ReadableSpan {
  readonly duration: ReadableSpan["startTime"];
  readonly ended: true;
}

/** `origin` is unknown where the span comes from a provider and not from an observer of ours. */
export function toObservation(
  span: ReadableSpan,
  origin: SpanOrigin | undefined,
  settings: LangfuseSettings,
): Observation {
  return {
    name: span.name,
    kind: span.kind,
    spanContext: () => span.spanContext(),
    ...(span.parentSpanContext === undefined ? {} : { parentSpanContext: span.parentSpanContext }),
    startTime: span.startTime,
    endTime: span.endTime,
    duration: between(span.startTime, span.endTime),
    ended: true,
    status: span.status,
    attributes: attributesFor(span, origin, settings),
    links: span.links,
    events: span.events,
    resource: span.resource,
    instrumentationScope: span.instrumentationScope,
    droppedAttributesCount: span.droppedAttributesCount,
    droppedEventsCount: span.droppedEventsCount,
    droppedLinksCount: span.droppedLinksCount,
  };
}

function attributesFor(span: ReadableSpan, origin: SpanOrigin | undefined, settings: LangfuseSettings): Attributes {
  const given = span.attributes;
  const attributes: Attributes = {};
  if (settings.environment !== undefined) attributes[names.ATTR_ENVIRONMENT] = settings.environment;
  if (settings.release !== undefined) attributes[names.ATTR_RELEASE] = settings.release;
  if (settings.tags.length > 0) attributes[names.ATTR_TRACE_TAGS] = [...settings.tags];
  if (settings.project !== undefined) attributes[`${names.ATTR_TRACE_METADATA}.project`] = settings.project;
  const session = given[ATTR_GEN_AI_CONVERSATION_ID] ?? origin?.sessionId;
  if (typeof session === "string") attributes[names.ATTR_SESSION_ID] = session;
  if (isOutermost(span, origin)) attributes[names.ATTR_IS_APP_ROOT] = true;
  // Spans of others speak for themselves.
  if (span.instrumentationScope.name !== SCOPE_NAME) return Object.assign(attributes, given);
  for (const key in given) put(attributes, key, given[key]);
  const operation = given[ATTR_GEN_AI_OPERATION_NAME];
  attributes[names.ATTR_OBSERVATION_TYPE] = (typeof operation === "string" ? TYPES[operation] : undefined) ?? "span";
  if (span.status.code === SpanStatusCode.ERROR) putFailure(attributes, span);
  if (operation === OPERATION_CHAT) putModel(attributes, given);
  return attributes;
}

function isOutermost(span: ReadableSpan, origin: SpanOrigin | undefined): boolean {
  return span.parentSpanContext === undefined || origin?.outermostSpanId === span.spanContext().spanId;
}

/** Our own facts go into the metadata, where Langfuse filters by them. */
function put(attributes: Attributes, key: string, value: Attributes[string]): void {
  const place = Object.hasOwn(MOVED, key) ? MOVED[key] : undefined;
  if (place !== undefined) attributes[place] = value;
  else if (!key.startsWith(OWN)) attributes[key] = value;
  else {
    const name = key.slice(OWN.length).replaceAll(".", "_");
    attributes[`${names.ATTR_OBSERVATION_METADATA}.${name}`] = Array.isArray(value) ? JSON.stringify(value) : value;
  }
}

/** The message is there with content capture alone; without, the kind of failure stands in its place. */
function putFailure(attributes: Attributes, { status, attributes: given }: ReadableSpan): void {
  attributes[names.ATTR_OBSERVATION_LEVEL] = "ERROR";
  const said = status.message ?? given[ATTR_ERROR_TYPE];
  if (said !== undefined) attributes[names.ATTR_OBSERVATION_STATUS_MESSAGE] = said;
}

function putModel(attributes: Attributes, given: Attributes): void {
  const model = given[ATTR_GEN_AI_RESPONSE_MODEL] ?? given[ATTR_GEN_AI_REQUEST_MODEL];
  if (model !== undefined) attributes[names.ATTR_OBSERVATION_MODEL] = model;
  const input = given[ATTR_GEN_AI_USAGE_INPUT_TOKENS];
  const output = given[ATTR_GEN_AI_USAGE_OUTPUT_TOKENS];
  if (input !== undefined || output !== undefined)
    attributes[names.ATTR_OBSERVATION_USAGE] = JSON.stringify({ input, output });
}

function between([seconds, nanos]: Observation["duration"], end: Observation["duration"]): Observation["duration"] {
  const whole = end[0] - seconds;
  const rest = end[1] - nanos;
  return rest < 0 ? [whole - 1, rest + 1e9] : [whole, rest];
}
