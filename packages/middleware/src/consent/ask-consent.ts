/** One question to a consent prompt, and what its answer, or the lack of one, amounts to. */

import type { ToolCall } from "@toolspan/core";
import { onAbort } from "../on-abort.ts";

/** An answer with details; `approved` and `decision` say the same, and must not contradict each other. */
export interface ConsentAnswer {
  readonly approved?: boolean;
  readonly decision?: "approved" | "denied";
  /** Who or what decided: a person's id, a policy's name. Default `prompt`. */
  readonly decidedBy?: string;
  /** Why, for the audit and, when denied, for the model. */
  readonly reason?: string;
}

/** Decides about one call. */
export type ConsentPrompt = (call: ToolCall) => boolean | ConsentAnswer | Promise<boolean | ConsentAnswer>;

/** How an answer came about: given, or none and why. */
export type VerdictCause = "answered" | "prompt_threw" | "prompt_timeout" | "invalid_answer" | "aborted";

export interface Verdict {
  readonly approved: boolean;
  readonly decidedBy: string;
  readonly reason: string | undefined;
  readonly cause: VerdictCause;
}

/** Asks once. Never rejects; an answer that comes after timeout or abort is not heard. */
export function askConsent(
  prompt: ConsentPrompt,
  call: ToolCall,
  timeoutMs: number | undefined,
): Verdict | Promise<Verdict> {
  if (call.signal?.aborted === true) return unanswered("aborted");
  let answer: unknown;
  try {
    answer = prompt(call);
  } catch {
    return unanswered("prompt_threw");
  }
  return isThenable(answer) ? awaitAnswer(answer, call.signal, timeoutMs) : readAnswer(answer);
}

function awaitAnswer(
  answer: PromiseLike<unknown>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): Promise<Verdict> {
  return new Promise((resolve) => {
    const settle = (verdict: Verdict): void => {
      clearTimeout(timer);
      unlisten();
      resolve(verdict);
    };
    const unlisten = onAbort(signal, () => settle(unanswered("aborted")));
    const timer =
      timeoutMs === undefined ? undefined : setTimeout(() => settle(unanswered("prompt_timeout")), timeoutMs);
    Promise.resolve(answer).then(
      (value) => settle(readAnswer(value)),
      () => settle(unanswered("prompt_threw")),
    );
    if (signal?.aborted === true) settle(unanswered("aborted")); // fired by the prompt itself
  });
}

function readAnswer(answer: unknown): Verdict {
  if (typeof answer === "boolean") {
    return { approved: answer, decidedBy: "prompt", reason: undefined, cause: "answered" };
  }
  try {
    const { approved, decision, decidedBy, reason } = answer as ConsentAnswer;
    const votes = [approved, decision === undefined ? undefined : toVote(decision)].filter(
      (vote) => vote !== undefined,
    );
    const [vote] = votes;
    if (typeof vote !== "boolean" || votes.some((other) => other !== vote)) return unanswered("invalid_answer");
    return {
      approved: vote,
      decidedBy: typeof decidedBy === "string" && decidedBy !== "" ? decidedBy : "prompt",
      reason: typeof reason === "string" && reason !== "" ? reason : undefined,
      cause: "answered",
    };
  } catch {
    return unanswered("invalid_answer");
  }
}

function toVote(decision: unknown): boolean | null {
  if (decision === "approved") return true;
  return decision === "denied" ? false : null;
}

/** Nobody decided, so the layer itself does: no. */
function unanswered(cause: Exclude<VerdictCause, "answered">): Verdict {
  return { approved: false, decidedBy: "with_consent", reason: undefined, cause };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (typeof value !== "object" || value === null) return false;
  try {
    return typeof (value as { readonly then?: unknown }).then === "function";
  } catch {
    return false;
  }
}
