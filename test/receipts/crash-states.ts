// What a crash can leave of an honest log: lines to any byte, and heads as far as the order of writes allows.
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { logsIn } from "./parts.ts";

/** Numbers that a seed fixes, each in [0, 1) (mulberry32). */
export type Random = () => number;

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An integer from 0 to `most`, both included. */
export function upTo(most: number, random: Random): number {
  return Math.floor(random() * (most + 1));
}

/** The last log of each session in `receipts`: the only one that its writer can have died over. */
export function lastLogs(receipts: string): readonly string[] {
  const last = new Map<string, { readonly file: string; readonly number: number }>();
  for (const file of logsIn(receipts)) {
    const [, stem = "", number = "1"] = /^(.*?)(?:\.(\d+))?\.jsonl$/.exec(file) ?? [];
    if ((last.get(stem)?.number ?? 0) < Number(number)) last.set(stem, { file, number: Number(number) });
  }
  return [...last.values()].map(({ file }) => file);
}

/**
 * Cuts the log `file` as if its writer had died at some moment before it was done.
 *
 * A head covers durable lines only; it is appended to the file of all heads, synced, written beside the latest one, and renamed. The folder is synced after the first rename; a later one that is lost leaves an earlier head in place.
 *
 * @returns How many complete lines are left.
 */
export function crash(receipts: string, file: string, random: Random): { readonly lines: number } {
  const path = join(receipts, file);
  const bytes = readFileSync(path);
  const log = (JSON.parse(bytes.subarray(0, bytes.indexOf(0x0a)).toString()) as { chain: { log: string } }).chain.log;
  const kept = cutOf(bytes, random);
  truncateSync(path, kept);
  const lines = bytes.subarray(0, kept).filter((byte) => byte === 0x0a).length;

  const entries = entriesOf(readFileSync(join(receipts, `${log}.heads`), "utf8"));
  const possible = entries.filter((entry) => sizeOf(entry) <= lines).length;
  const whole = random() < 0.5 ? possible : upTo(possible, random);
  const next = Buffer.from(whole < possible ? (entries[whole] as string) : "");
  const torn = random() < 0.5 ? next.subarray(0, upTo(Math.max(0, next.length - 1), random)) : Buffer.alloc(0);
  const all = Buffer.concat([Buffer.from(entries.slice(0, whole).join("")), torn]);
  if (all.length > 0 || (possible > 0 && random() < 0.5)) writeFileSync(join(receipts, `${log}.heads`), all);
  else rmSync(join(receipts, `${log}.heads`));

  // Which head is in place: none before the first rename, the first one at least before the second entry.
  const least = whole > 1 || (whole === 1 && torn.length > 0) ? 1 : 0;
  const placed = random() < 0.6 ? whole : least + upTo(whole - least, random);
  const latest = join(receipts, `${log}.head`);
  if (placed === 0) rmSync(latest, { force: true });
  else writeFileSync(latest, entries[placed - 1] as string);
  if (placed === whole - 1 && torn.length === 0 && random() < 0.5) {
    const unplaced = Buffer.from(entries[placed] as string);
    writeFileSync(`${latest}.next`, unplaced.subarray(0, upTo(unplaced.length, random)));
  }
  return { lines };
}

/** Bytes that are left: none, up to a line, all but the last newline, anything; seldom less than a line. */
function cutOf(bytes: Buffer, random: Random): number {
  const kind = random();
  if (kind < 0.02) return 0;
  if (kind < 0.07) return bytes.length - 1;
  const least = kind < 0.12 ? 0 : bytes.indexOf(0x0a) + 1;
  const at = least + upTo(bytes.length - least, random);
  return kind < 0.4 ? bytes.lastIndexOf(0x0a, at) + 1 : at;
}

/** The entries of a file of heads: three lines, a blank one, signature lines. */
function entriesOf(text: string): readonly string[] {
  return [...text.matchAll(/.+\n.+\n.+\n\n(?:— .+\n)*/g)].map(([entry]) => entry);
}

function sizeOf(entry: string): number {
  return Number(entry.split("\n")[1]);
}

/** Every file of a folder with its length: what a report of a failure needs. */
export function listing(receipts: string): readonly string[] {
  if (!existsSync(receipts)) return [];
  return readdirSync(receipts)
    .sort()
    .map((name) => `${name} ${readFileSync(join(receipts, name)).length}`);
}
