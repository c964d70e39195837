/** One request to an OTLP endpoint and what its answer means: bounded in time and memory, no redirect followed. */

import type { DeliveryEndpoint } from "./delivery-endpoint.ts";
import { type Answer, answerOfBody, answerOfStatus, isSuccess } from "./otlp-answer.ts";
import { exportRequest } from "./otlp-log-record.ts";

/** An answer to a request of any size fits in it many times over. */
const MAX_ANSWER_BYTES = 65_536;

/**
 * Sends `records`.
 *
 * @param signal Gives up at once.
 * @returns What became of them, at the latest after the endpoint's time. Never rejects.
 */
export async function sendRecords(
  endpoint: DeliveryEndpoint,
  records: readonly string[],
  signal: AbortSignal,
): Promise<Answer> {
  const stop = new AbortController();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    stop.abort();
  }, endpoint.requestTimeoutMs);
  const giveUp = (): void => stop.abort();
  signal.addEventListener("abort", giveUp);
  if (signal.aborted) giveUp();
  try {
    const response = await fetch(endpoint.url, {
      method: "POST",
      headers: endpoint.headers,
      body: exportRequest(endpoint.resource, records),
      redirect: "manual",
      signal: stop.signal,
    });
    if (isSuccess(response.status)) return answerOfBody(await textOf(response), records.length);
    const answer = answerOfStatus(response.status, response.headers.get("retry-after"), Date.now());
    await response.body?.cancel();
    return answer;
  } catch (error) {
    return { kind: "again", reason: late ? "no answer in time" : wordOf(error), afterMs: null };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

/** The body; null where it is longer than an answer may be. */
async function textOf(response: Response): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) return null; // leaving the loop cancels the rest
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The system's code for what went wrong, such as ECONNREFUSED, or the words of `fetch`, such as "bad port". */
function wordOf(error: unknown): string {
  const { cause, name } = error as {
    readonly cause?: { readonly code?: unknown; readonly message?: unknown };
    readonly name?: unknown;
  };
  return String(cause?.code ?? cause?.message ?? name ?? "an error").slice(0, 80);
}
