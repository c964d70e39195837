/** Why a run ended. */

/**
 * `end`: the model was done. `max_model_calls`, `max_tool_calls`, `deadline`: a limit. `aborted`: the caller's signal.
 * `receipt_failed`: a receipt that the policy demands could not be written.
 */
export type StopReason = "end" | "max_model_calls" | "max_tool_calls" | "deadline" | "aborted" | "receipt_failed";

export class RunStop {
  #reason: StopReason | "raised" | undefined;
  #error: unknown;

  get reason(): StopReason | "raised" | undefined {
    return this.#reason;
  }

  /** What failed, where something did. */
  get error(): unknown {
    return this.#error;
  }

  /** The first reason counts, except that a failed receipt goes before all others. */
  say(reason: StopReason | "raised", error?: unknown): void {
    if (this.#reason === "receipt_failed") return;
    if (this.#reason !== undefined && reason !== "receipt_failed") return;
    this.#reason = reason;
    this.#error = error;
  }
}
