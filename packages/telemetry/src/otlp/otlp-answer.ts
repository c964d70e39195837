/** What a collector answers to one attempt. */

import type { IncomingMessage } from "node:http";

const MAX_RESPONSE_LENGTH = 65_536;

export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
  readonly retryAfter: string | undefined;
}

/** Reads the answer to its end, at most 64 KiB of it. */
export function readAnswer(
  answer: IncomingMessage,
  resolve: (answer: Answer) => void,
  reject: (error: Error) => void,
): void {
  const parts: Buffer[] = [];
  let length = 0;
  answer.on("data", (part: Buffer) => {
    length += part.length;
    if (length <= MAX_RESPONSE_LENGTH) parts.push(part);
  });
  answer.on("end", () => {
    const { statusCode, headers } = answer;
    resolve({ status: statusCode ?? 0, body: Buffer.concat(parts), retryAfter: headers["retry-after"] });
  });
  answer.on("error", reject);
}

/** Milliseconds that a `Retry-After` header asks for; undefined where it asks for no time to come. */
export function waitAsked(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === "") return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : undefined;
}
