/** Port: whether a call's arguments fit its schema. `@toolspan/agent` brings a JSON Schema implementation. */

import type { ToolCall } from "../vocabulary/tool-call.ts";

/** One thing that does not fit. Texts name the place and the rule, never the value. */
export interface ArgsProblem {
  /** JSON Pointer into the arguments. */
  readonly path: string;
  readonly message: string;
}

/** Answers with the problems, none when the arguments fit or the call has no schema. Runs at the terminal. */
export type ArgsValidator = (call: ToolCall) => readonly ArgsProblem[] | Promise<readonly ArgsProblem[]>;
