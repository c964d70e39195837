/** What an endpoint's answer means for the lines that were sent. */

/** `again` and `split` leave everything undecided; `refused` is for good. */
export type Answer =
  | { readonly kind: "accepted"; readonly warning: string | null }
  /** Some of the records were refused, and nobody says which; `all` where the count says that it was all of them. */
  | { readonly kind: "partial"; readonly all: boolean }
  | { readonly kind: "too_large" }
  | { readonly kind: "refused"; readonly status: number }
  /** `afterMs`: no earlier than that, where the endpoint said so. */
  | { readonly kind: "again"; readonly reason: string; readonly afterMs: number | null };

const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const TOO_LARGE = 413;
/** No endpoint may put delivery off for longer, whatever it asks for. */
export const MAX_ASKED_MS = 300_000;

/** True where the body decides. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** The meaning of a status that is no success. @source OTLP specification, OTLP/HTTP, Failures */
export function answerOfStatus(status: number, retryAfter: string | null, now: number): Answer {
  if (status === TOO_LARGE) return { kind: "too_large" };
  if (!RETRYABLE.has(status)) return { kind: "refused", status };
  return { kind: "again", reason: `status ${status}`, afterMs: askedMs(retryAfter, now) };
}

/**
 * The meaning of a success with this body.
 *
 * A body that is neither empty nor a JSON object comes from somebody else than an OTLP endpoint, such as a proxy's login page: nothing was accepted.
 *
 * @param body Null where it was cut.
 * @param sent How many records the request held.
 * @source OTLP specification, Partial Success
 */
export function answerOfBody(body: string | null, sent: number): Answer {
  const answer = body === null ? null : objectIn(body);
  if (answer === null) return { kind: "again", reason: "an answer that is none of OTLP", afterMs: null };
  const partial = (answer.partialSuccess ?? answer.partial_success ?? null) as Readonly<Record<string, unknown>> | null;
  if (partial === null) return { kind: "accepted", warning: null };
  if (typeof partial !== "object") return { kind: "partial", all: false };
  const rejected = countOf(partial.rejectedLogRecords ?? partial.rejected_log_records ?? 0);
  if (rejected !== 0) return { kind: "partial", all: rejected === sent };
  const message = partial.errorMessage ?? partial.error_message;
  return { kind: "accepted", warning: typeof message === "string" && message !== "" ? message : null };
}

/** Milliseconds that a `Retry-After` asks for: whole seconds or an HTTP date, never more than `MAX_ASKED_MS`; null for what is neither. */
export function askedMs(header: string | null, now: number): number | null {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, MAX_ASKED_MS);
  if (!/^[A-Za-z]{3,9}[, ]/.test(text)) return null;
  const wait = Date.parse(text) - now;
  return Number.isNaN(wait) ? null : Math.min(Math.max(0, wait), MAX_ASKED_MS);
}

/** Null for what is no count: then it counts as some. */
function countOf(value: unknown): number | null {
  const count = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

function objectIn(body: string): Readonly<Record<string, unknown>> | null {
  if (body.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : null;
  } catch {
    return null;
  }
}
