/** Sends parked records again, and keeps those that are refused again, in their order. */

import { renameSync, rmSync } from "node:fs";
import { syncFolder } from "../log/private-file.ts";
import type { Cargo, Courier } from "./courier.ts";
import { type DeadLetter, deadLetterFile, deadLettersIn, type Parked, park } from "./dead-letters.ts";

export interface ResendNews {
  sent(counts: { readonly lines: number; readonly heads: number }): void;
  parked(records: number): void;
  away(reason: string, waitMs: number): void;
}

type Letter = Parked & Cargo;

/**
 * Goes through the dead-letter file of an endpoint.
 *
 * The file is replaced when all is done, or `signal` has fired; a sender that is killed before leaves it as it was, so that what was accepted meanwhile arrives twice.
 *
 * @returns False when `signal` fired first.
 */
export async function resendDeadLetters(
  folder: string,
  courier: Courier,
  signal: AbortSignal,
  news: ResendNews,
): Promise<boolean> {
  const path = deadLetterFile(folder);
  const next = `${path}.next`;
  rmSync(next, { force: true });
  let all = true;
  let found = 0;
  for await (const letters of batchesIn(path, () => courier.room)) {
    found += letters.length;
    if (!all) await park(next, folder, letters);
    else all = await resend(letters, next, folder, courier, signal, news);
  }
  if (found === 0) return true;
  await park(next, folder, []); // also where none is left
  renameSync(next, path);
  syncFolder(folder);
  return all;
}

/** False when `signal` fired first; then those without an answer are kept. */
async function resend(
  letters: readonly Letter[],
  next: string,
  folder: string,
  courier: Courier,
  signal: AbortSignal,
  news: ResendNews,
): Promise<boolean> {
  let settled = 0;
  const book = {
    delivered: async (some: readonly Letter[]) => {
      settled += some.length;
      const heads = some.filter(({ kind }) => kind === "head").length;
      news.sent({ lines: some.length - heads, heads });
    },
    parked: async (some: readonly Letter[], reason: string) => {
      settled += some.length;
      await park(
        next,
        folder,
        some.map((letter) => ({ ...letter, reason })),
      );
      news.parked(some.length);
    },
    waiting: (reason: string, ms: number) => news.away(reason, ms),
  };
  const all = await courier.carry(letters, book, signal);
  if (!all) await park(next, folder, letters.slice(settled));
  return all;
}

async function* batchesIn(path: string, room: () => number): AsyncGenerator<readonly Letter[], void, void> {
  let batch: Letter[] = [];
  let bytes = 0;
  for await (const letter of deadLettersIn(path)) {
    const next = letterOf(letter);
    if (batch.length > 0 && bytes + next.bytes > room()) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(next);
    bytes += next.bytes;
  }
  if (batch.length > 0) yield batch;
}

function letterOf({ reason, log, kind, place, otlp }: DeadLetter): Letter {
  const record = JSON.stringify(otlp);
  return { reason, log, kind, place, record, bytes: Buffer.byteLength(record) + 1 };
}
