/** The one error class and the one registry of codes: every message the project throws is made here. */

/** What each code's message is made from. Details never hold the content of arguments or results. */
interface ErrorDetails {
  TOOLSPAN_DUPLICATE_TOOL: { readonly tool: string };
  TOOLSPAN_HASHER_CONFLICT: { readonly first: string; readonly second: string };
  TOOLSPAN_INVALID_ARGUMENTS: { readonly tool: string; readonly problems: number };
  TOOLSPAN_INVALID_CALL: { readonly layer: string; readonly received: string };
  TOOLSPAN_INVALID_LAYER: { readonly position: number; readonly received: string; readonly hint?: string };
  TOOLSPAN_INVALID_OPTION: {
    readonly subject: string;
    readonly option: string;
    readonly expected: string;
    readonly received: string;
  };
  TOOLSPAN_INVALID_TOOL: { readonly tool: string; readonly expected: string; readonly received: string };
  TOOLSPAN_INVALID_TRANSCRIPT: {
    readonly line?: number;
    readonly place: string;
    readonly expected: string;
    readonly received: string;
  };
  TOOLSPAN_INVALID_TURN: {
    readonly model: string;
    readonly place: string;
    readonly expected: string;
    readonly received: string;
  };
  TOOLSPAN_LINT: { readonly findings: readonly string[] };
  TOOLSPAN_MISSING_PEER: { readonly subject: string; readonly peer: string };
  TOOLSPAN_NEXT_AFTER_END: { readonly layer: string };
  TOOLSPAN_NO_ASYNC_CONTEXT: Record<never, never>;
  TOOLSPAN_NOT_IN_DISPATCHER: { readonly name: string };
  TOOLSPAN_RECEIPT_FAILED: { readonly reason: string; readonly executed: boolean };
  TOOLSPAN_RECEIPT_STORE: { readonly path: string; readonly expected: string; readonly received: string };
  TOOLSPAN_SCOPE_VIOLATION: { readonly tool: string; readonly stage: string; readonly rule: string };
  TOOLSPAN_SECOND_RECORDER: { readonly name: string };
  TOOLSPAN_SIGNING_KEY: { readonly path: string; readonly expected: string; readonly received: string };
}

export type ToolspanErrorCode = keyof ErrorDetails;

const MESSAGES: { readonly [C in ToolspanErrorCode]: (details: ErrorDetails[C]) => string } = {
  TOOLSPAN_DUPLICATE_TOOL: ({ tool }) =>
    `tool ${quote(tool)}: a name may be registered once, received it twice; rename one of them`,
  TOOLSPAN_HASHER_CONFLICT: ({ first, second }) =>
    `layers ${first} and ${second}: one hasher serves all recorded values, received two different ones; configure it once`,
  TOOLSPAN_INVALID_ARGUMENTS: ({ tool, problems }) =>
    `tool ${quote(tool)}: expected arguments that fit its schema, received ${problems} that do not; give the dispatcher registry.validator() to refuse them before they run`,
  TOOLSPAN_INVALID_CALL: ({ layer, received }) =>
    `layer ${layer}: next expects a tool call, received ${received}; pass on the call or a changed copy of it`,
  TOOLSPAN_INVALID_LAYER: ({ position, received, hint }) =>
    `layer at position ${position}: expected a function, received ${received}; ${hint ?? "pass (call, next, scope) => result"}`,
  TOOLSPAN_INVALID_OPTION: ({ subject, option, expected, received }) =>
    `${subject}: ${option} must be ${expected}, received ${received}`,
  TOOLSPAN_INVALID_TOOL: ({ tool, expected, received }) =>
    `tool ${quote(tool)}: expected ${expected}, received ${received}; correct the definition`,
  TOOLSPAN_INVALID_TRANSCRIPT: ({ line, place, expected, received }) =>
    `transcript${line === undefined ? "" : ` line ${line}`}${place === "" ? "" : `, ${place}`}: expected ${expected}, received ${received}`,
  TOOLSPAN_INVALID_TURN: ({ model, place, expected, received }) =>
    `model ${quote(model)}: expected ${place} to be ${expected}, received ${received}`,
  TOOLSPAN_LINT: ({ findings }) => `stack order: ${findings.join("; ")}`,
  TOOLSPAN_MISSING_PEER: ({ subject, peer }) =>
    `${subject}: expected the package ${peer} beside it, found none; install it`,
  TOOLSPAN_NEXT_AFTER_END: ({ layer }) =>
    `layer ${layer}: next was called after the layer had ended; await next before returning`,
  TOOLSPAN_NO_ASYNC_CONTEXT: () =>
    "withExecutionPolicy: this runtime has no AsyncLocalStorage; narrow the policy per dispatch instead",
  TOOLSPAN_NOT_IN_DISPATCHER: ({ name }) =>
    `${name}: works only inside a dispatcher, was called by hand; list it in createDispatcher([...])`,
  TOOLSPAN_RECEIPT_FAILED: ({ reason, executed }) =>
    `receipt: expected it on disk before the result leaves, the store failed (${reason}); ${executed ? "the tool has run, do not repeat it" : "the tool has not run"}`,
  TOOLSPAN_RECEIPT_STORE: ({ path, expected, received }) =>
    `receipt store ${path}: expected ${expected}, found ${received}`,
  TOOLSPAN_SCOPE_VIOLATION: ({ tool, stage, rule }) =>
    `tool ${quote(tool)}: expected a call within the scope of stage ${quote(stage)}, received one that offends its ${rule}; it was not run`,
  TOOLSPAN_SECOND_RECORDER: ({ name }) => `${name}: one per dispatcher, received a second; give the one several sinks`,
  TOOLSPAN_SIGNING_KEY: ({ path, expected, received }) =>
    `signing key ${path}: expected ${expected}, found ${received}`,
};

const BRAND = Symbol.for("toolspan.error");

/** What every misuse throws. Compare `code`, or use `ToolspanError.is`, which also recognises another copy's errors. */
export class ToolspanError<C extends ToolspanErrorCode = ToolspanErrorCode> extends Error {
  readonly code: C;
  readonly details: ErrorDetails[C];

  constructor(code: C, details: ErrorDetails[C], options?: { readonly cause?: unknown }) {
    super(MESSAGES[code](details), options);
    this.name = "ToolspanError";
    this.code = code;
    this.details = details;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for an error of this project, by `code` if given. */
  static is<C extends ToolspanErrorCode>(value: unknown, code?: C): value is ToolspanError<C> {
    if (typeof value !== "object" || value === null || !(BRAND in value)) return false;
    return code === undefined || (value as { readonly code?: unknown }).code === code;
  }
}

/** Every code, sorted. */
export const ERROR_CODES: readonly ToolspanErrorCode[] = Object.keys(MESSAGES).sort() as ToolspanErrorCode[];

/** `"name"`, shortened and with control characters escaped, for messages. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}

/** The kind of a value in a word or two, never its content: `a string`, `null`, `an instance of Map`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return `a ${typeof value}`;
}
