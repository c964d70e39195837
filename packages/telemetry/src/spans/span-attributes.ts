/** What stands on the spans of a dispatch: the convention's attributes, then our own. */

import type { Attributes } from "@opentelemetry/api";
import type {
  AttributeValue,
  LayerRun,
  LeafEnd,
  ObservedOutcome,
  Attributes as Scalars,
  ToolCall,
} from "@toolspan/core";
import {
  ATTR_ARGS_CHANGED,
  ATTR_ARGS_HASH,
  ATTR_ATTEMPT,
  ATTR_ATTEMPTS,
  ATTR_DISPATCH_ID,
  ATTR_ERROR_CATEGORY,
  ATTR_EXECUTOR,
  ATTR_ITERATION,
  ATTR_MODE,
  ATTR_PERSONA,
  ATTR_RECEIPT_LEVEL,
  ATTR_RECEIPT_LOG,
  ATTR_RENDERED_RESULT_SIZE,
  ATTR_REPLAYED,
  ATTR_RUN_ID,
  ATTR_SESSION_ID,
  ATTR_STATUS,
  PREFIX_LAYER,
  PREFIX_META,
} from "../names.ts";
import {
  ATTR_GEN_AI_AGENT_NAME,
  ATTR_GEN_AI_CONVERSATION_ID,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_TOOL_CALL_ID,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_GEN_AI_TOOL_TYPE,
  OPERATION_EXECUTE_TOOL,
  OTHER,
  TOOL_TYPE_EXTENSION,
  TOOL_TYPE_FUNCTION,
} from "../semconv.ts";
import { toId, toWord } from "../words.ts";
import { categoryOf, renderedSize } from "./outcome-facts.ts";

/** What the options say about every root. */
export interface RootOptions {
  readonly persona?: string | undefined;
  readonly mode?: string | undefined;
  readonly extraAttributes?: Scalars | undefined;
  readonly hashArgs: boolean;
}

/** The tool's name where it must be of low cardinality. */
export function foldedName(call: ToolCall): string {
  return call.known ? toId(call.toolName) : OTHER;
}

/** `function` for what this process runs, `extension` for what the provider runs itself; a server's tool has no word. */
export function toolTypeOf({ declaredExecutor }: ToolCall): string | undefined {
  if (declaredExecutor === "mcp_server") return undefined;
  return declaredExecutor === "provider_native" ? TOOL_TYPE_EXTENSION : TOOL_TYPE_FUNCTION;
}

/** What the convention wants known when the span starts, for samplers. */
export function rootStart(call: ToolCall, { extraAttributes }: RootOptions): Attributes {
  const { turn, callId } = call;
  const attributes: Attributes = extraAttributes === undefined ? {} : { ...extraAttributes };
  attributes[ATTR_GEN_AI_OPERATION_NAME] = OPERATION_EXECUTE_TOOL;
  attributes[ATTR_GEN_AI_TOOL_NAME] = toId(call.toolName);
  const type = toolTypeOf(call);
  if (type !== undefined) attributes[ATTR_GEN_AI_TOOL_TYPE] = type;
  if (callId !== null) attributes[ATTR_GEN_AI_TOOL_CALL_ID] = toId(callId);
  if (turn.agentName !== undefined) attributes[ATTR_GEN_AI_AGENT_NAME] = turn.agentName;
  if (turn.sessionId !== undefined) attributes[ATTR_GEN_AI_CONVERSATION_ID] = turn.sessionId;
  return attributes;
}

/** Everything of our own, and what is known only when the dispatch ends. */
export function rootEnd(outcome: ObservedOutcome, options: RootOptions): Attributes {
  const { dispatch, finalResult: result, receipt, executor } = outcome;
  const { turn } = dispatch.call;
  const attributes: Attributes = {
    [ATTR_DISPATCH_ID]: dispatch.id,
    [ATTR_STATUS]: result.status,
    [ATTR_ATTEMPTS]: outcome.attempts,
    [ATTR_ITERATION]: turn.iteration,
  };
  if (turn.sessionId !== undefined) attributes[ATTR_SESSION_ID] = turn.sessionId;
  if (turn.runId !== undefined) attributes[ATTR_RUN_ID] = turn.runId;
  if (options.persona !== undefined) attributes[ATTR_PERSONA] = options.persona;
  if (options.mode !== undefined) attributes[ATTR_MODE] = options.mode;
  if (executor !== null) attributes[ATTR_EXECUTOR] = executor;
  if (options.hashArgs && dispatch.argsDigest !== null) attributes[ATTR_ARGS_HASH] = dispatch.argsDigest.hash;
  const rendered = renderedSize(result);
  if (rendered !== undefined) attributes[ATTR_RENDERED_RESULT_SIZE] = rendered;
  const category = categoryOf(result);
  if (category !== undefined) attributes[ATTR_ERROR_CATEGORY] = category;
  if (result.replayed === true) attributes[ATTR_REPLAYED] = true;
  if (receipt !== undefined) {
    attributes[ATTR_RECEIPT_LEVEL] = receipt.level;
    if (receipt.log !== undefined) attributes[ATTR_RECEIPT_LOG] = receipt.log;
  }
  return attributes;
}

/** What a layer says of itself cannot overwrite what the kernel says of it. */
export function layerEnd(run: LayerRun): Attributes {
  const known: Attributes = {
    "toolspan.layer.name": run.name,
    "toolspan.layer.index": run.index,
    "toolspan.layer.status": toWord(run.status),
    "toolspan.layer.self_time_ms": run.selfTime / 1e6,
    "toolspan.layer.short_circuited": run.shortCircuited,
    "toolspan.layer.args_changed": run.argsChanged,
    "toolspan.layer.attempt": run.attempt,
  };
  const said = run.attributes;
  if (said === undefined) return known;
  const attributes: Attributes = {};
  for (const key in said) attributes[PREFIX_LAYER + key] = said[key];
  return Object.assign(attributes, known);
}

export function leafEnd(leaf: LeafEnd): Attributes {
  return {
    [ATTR_ATTEMPT]: leaf.attempt,
    [ATTR_STATUS]: toWord(leaf.status),
    [ATTR_ARGS_CHANGED]: leaf.argsChanged,
  };
}

/** The allow-listed members of a call's metadata, scalars only; undefined where there are none. */
export function metaAttributes(call: ToolCall, keys: readonly string[]): Scalars | undefined {
  const { meta } = call;
  if (keys.length === 0 || meta === undefined) return undefined;
  const attributes: Record<string, AttributeValue> = {};
  for (const key of keys) {
    const value = meta[key];
    if (typeof value === "string") attributes[PREFIX_META + key] = toId(value);
    else if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) {
      attributes[PREFIX_META + key] = value;
    }
  }
  return attributes;
}
