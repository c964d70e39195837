/** What a tool call is: the read-only envelope that travels inward through the layers. */

/** Who runs the tool, as the registry or framework declares it. */
export type Executor = "local" | "host_bridge" | "mcp_server" | "provider_native";

/** How far a tool's effects reach, from nothing to the network. Unknown counts as `network`. */
export type SideEffectLevel = "none" | "read_only" | "workspace_write" | "process_exec" | "network";

/** Hints about a tool's behaviour, as MCP tool annotations name them. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** Where in the conversation a call was emitted. */
export interface Turn {
  /** 1-based count of model calls of this run; 0 outside a loop. */
  readonly iteration: number;
  readonly sessionId?: string;
  readonly runId?: string;
  /** 0-based position of the model's turn in the transcript. */
  readonly turnIndex?: number;
  /** 0-based position of the call among its turn's calls: the receipt's `emit_order`. */
  readonly toolCallIndex?: number;
  readonly model?: string;
  readonly provider?: string;
  readonly agentName?: string;
  readonly prefetchNextTurn?: boolean;
}

/** One tool call. A layer that changes it passes on a new one; nobody writes to it. */
export interface ToolCall {
  readonly toolName: string;
  /** The arguments; `undefined` beside a `rawArgs` means that the text could not be parsed. */
  readonly toolArgs: unknown;
  /** The arguments' text as the model wrote it. */
  readonly rawArgs?: string | undefined;
  /** The provider's id for this call, or null. Not unique: join on the dispatch id. */
  readonly callId: string | null;
  /** False for a name that no registry knows; it folds to `_OTHER` in span names and metrics. */
  readonly known: boolean;
  readonly declaredExecutor?: Executor | undefined;
  /** Input schema, JSON Schema. */
  readonly schema?: unknown | undefined;
  readonly description?: string | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  readonly sideEffectLevel?: SideEffectLevel | undefined;
  readonly idempotent?: boolean | undefined;
  /** Capability → operations that the tool needs. */
  readonly capabilities?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly turn: Turn;
  /** Which attempt of this dispatch this is, 1-based; set by the kernel. */
  readonly attempt: number;
  readonly signal?: AbortSignal | undefined;
  /** Allow-listed baggage (an MCP `_meta`, tenant, …). */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** The framework's own call object, untouched. */
  readonly native?: unknown | undefined;
}

/** A call as a caller hands it over: only the name is required. */
export type ToolCallInput = Partial<Omit<ToolCall, "attempt" | "toolName">> & { readonly toolName: string };

const NO_TURN: Turn = Object.freeze({ iteration: 0 });

/**
 * Completes a caller's input: known, no call id, turn 0, attempt 1 unless said otherwise. Reads each field once.
 *
 * Every field is written, so that all calls have one shape and cost the layers the same.
 */
export function toToolCall(input: ToolCallInput): ToolCall {
  const { toolName, toolArgs, rawArgs, callId, known = true, declaredExecutor, schema, description } = input;
  const { annotations, sideEffectLevel, idempotent, capabilities, turn, signal, meta, native } = input;
  return {
    toolName,
    toolArgs,
    rawArgs,
    callId: toCallId(callId),
    known,
    declaredExecutor,
    schema,
    description,
    annotations,
    sideEffectLevel,
    idempotent,
    capabilities,
    turn: turn === undefined || turn === null ? NO_TURN : toTurn(turn),
    attempt: 1,
    signal,
    meta,
    native,
  };
}

/** JSON-RPC has numbers for ids; anything else that is no text is no id. */
function toCallId(id: unknown): string | null {
  if (typeof id === "string") return id;
  return typeof id === "number" || typeof id === "bigint" ? String(id) : null;
}

/** A copy with each field read once and of its type, so that nothing that records it later can stumble over it. */
function toTurn(given: Turn): Turn {
  const { iteration } = given;
  const turn: { -readonly [K in keyof Turn]: Turn[K] } = { iteration: typeof iteration === "number" ? iteration : 0 };
  for (const field of TEXT_FIELDS) {
    const value = given[field];
    if (typeof value === "string") turn[field] = value;
  }
  const { turnIndex, toolCallIndex, prefetchNextTurn } = given;
  if (typeof turnIndex === "number") turn.turnIndex = turnIndex;
  if (typeof toolCallIndex === "number") turn.toolCallIndex = toolCallIndex;
  if (typeof prefetchNextTurn === "boolean") turn.prefetchNextTurn = prefetchNextTurn;
  return turn;
}

const TEXT_FIELDS = ["sessionId", "runId", "model", "provider", "agentName"] as const;

/** The completed call, or nothing where the input has no tool name or cannot be read. Never throws. */
export function readToolCall(input: ToolCallInput): ToolCall | undefined {
  try {
    const call = toToolCall(input);
    return typeof call.toolName === "string" ? call : undefined;
  } catch {
    return undefined;
  }
}
