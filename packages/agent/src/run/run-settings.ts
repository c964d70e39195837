/** What a run goes by: the agent's share, and what its caller says. */

import type { Dispatcher } from "@toolspan/core";
import type { Model } from "../model/model.ts";
import type { AgentTools } from "./agent-tools.ts";
import type { CheckedLimits } from "./limits.ts";

/** What all runs of an agent share. */
export interface RunSettings {
  readonly agentName: string;
  readonly model: Model;
  readonly tools: AgentTools;
  readonly dispatcher: Dispatcher;
  readonly limits: CheckedLimits;
  readonly prefetchNextTurn: boolean;
}

export interface RunOptions {
  /** Ends the run as `aborted`; tools see it as `call.signal`. */
  readonly signal?: AbortSignal;
  /** The conversation that this run belongs to. */
  readonly sessionId?: string;
  /** Default a UUIDv7. */
  readonly runId?: string;
  /** Allow-listed baggage for every call. */
  readonly meta?: Readonly<Record<string, unknown>>;
}
