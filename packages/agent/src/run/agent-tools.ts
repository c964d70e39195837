/** Port: where the loop finds tools. A core `ToolRegistry` is one. */

import type { ArgsValidator, CallFields, ModelTool, ToolCallInput, ToolHandler, Turn } from "@toolspan/core";

export interface AgentTools {
  /** What models are given. */
  readonly tools: readonly ModelTool[];
  /** A dispatch-ready call; for a name that is not here one with `known: false`, which the loop refuses. */
  toCall(name: string, fields: CallFields): ToolCallInput;
  /** An argument check that knows these tools, falling back on `jsonSchema`. */
  validator?(jsonSchema: ArgsValidator): ArgsValidator;
  /** A tool's own limits. */
  get?(name: string): { readonly timeoutMs?: number } | undefined;
  /** What runs the call at this place of the run; undefined where nothing here does. */
  handler(name: string, turn: Turn): ToolHandler | undefined;
}
