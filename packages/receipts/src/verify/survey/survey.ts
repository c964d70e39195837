/** A first look at every log of a folder: who it is, and what it claims of others. */

import { closeSync, readSync } from "node:fs";
import { join } from "node:path";
import { originOf } from "../../log/checkpoint.ts";
import { isCompressed, parseFileName, plainName } from "../../log/file-name.ts";
import { leafHash } from "../../log/merkle.ts";
import { MAX_LINE_BYTES } from "../../records/envelope.ts";
import type { LogRecord } from "../../records/record.ts";
import { MAX_RECOVERIES } from "../../records/recovery.ts";
import type { SegmentOpen } from "../../records/segment-open.ts";
import { DamagedGzip } from "../lines/gunzipped.ts";
import { parseLine } from "../lines/parse-line.ts";
import { linesOf, openRegular } from "../lines/read-lines.ts";
import { beginningOf } from "./beginning-of.ts";

/** What a later log found of this one. */
export interface Claim {
  /** The log that claims it, as findings name it. */
  readonly file: string;
  readonly line: number;
  readonly lines: number;
  readonly root: string;
  /** Set by a `recovery` line: it vouches for all that a dead writer left. */
  readonly torn: { readonly bytes: number; readonly hash: string | null } | null;
}

export interface SurveyedLog {
  readonly file: string;
  /** Null when no line says it. */
  readonly log: string | null;
  readonly opened: string;
  /** Origins that its writer gives to heads, unsigned and signed; null when no first line says it. */
  readonly origins: readonly string[] | null;
  /** The log before it. */
  readonly previous: { readonly file: string; readonly log: string | null } | null;
}

export interface Survey {
  /** In the order in which they were written, as far as they say. */
  readonly logs: readonly SurveyedLog[];
  readonly claims: ReadonlyMap<string, readonly Claim[]>;
}

const FIRST_BYTES = 8192;
const NEWLINE = 0x0a;
const FIRST_LINES = 3;
/** The opening line, recoveries of the predecessor and of logs before it, and the line that confirms the last. */
const MAX_FIRST_LINES = MAX_RECOVERIES + 3;
const RECOVERY = Buffer.from('"record":"recovery"');

/** Looks at `files` of `folder`; what cannot be read or parsed is left to the verification proper. */
export async function surveyLogs(
  folder: string,
  files: readonly string[],
  label: (file: string) => string,
): Promise<Survey> {
  const claims = new Map<string, Claim[]>();
  const logs: SurveyedLog[] = [];
  for (const file of files) {
    const path = join(folder, file);
    const lines = isCompressed(file) ? await firstCompressed(path) : firstLines(path);
    const records = lines.map((bytes) => parseLine({ bytes, overlong: false, leaf: () => leafHash(bytes) }, false));
    // A claim counts once the line after it has confirmed it: otherwise damage here would look like damage there.
    for (const [i, { record }] of records.entries()) {
      const next = records[i + 1]?.chain;
      if (record === null || next?.prev !== leafHash(lines[i] as Buffer)) continue;
      const claim = claimIn(record, label(file), i + 1);
      if (claim !== null) claims.set(claim.key, [...(claims.get(claim.key) ?? []), claim.claim]);
    }
    const opening = records[0]?.record;
    logs.push({
      file,
      log: mostNamed(records.map(({ chain }) => chain?.log ?? null)),
      opened: opening?.emitted_at ?? "",
      origins: opening?.record === "segment_open" ? originsOf(opening) : null,
      previous: opening?.record === "segment_open" ? opening.previous : null,
    });
  }
  return { logs: logs.sort(byAge), claims };
}

function originsOf({ chain: { log }, verifier_key }: SegmentOpen): readonly string[] {
  const name = verifier_key?.split("+", 1)[0];
  const origins = name === undefined ? [originOf(log)] : [originOf(log), originOf(log, name)];
  return origins.map((origin) => Buffer.from(origin).toString("latin1")); // as files of heads are read
}

/** Claims are kept by the log they are about, or by its file where it had no readable line. */
export function claimsOn(survey: Survey, file: string, log: string | null): readonly Claim[] {
  return [
    ...(log === null ? [] : (survey.claims.get(log) ?? [])),
    ...(survey.claims.get(`file:${plainName(file)}`) ?? []),
  ];
}

function claimIn(
  record: LogRecord,
  file: string,
  line: number,
): { readonly key: string; readonly claim: Claim } | null {
  if (record.record === "segment_open" && record.previous !== null) {
    const { log, lines, root, file: about } = record.previous;
    return { key: log ?? `file:${about}`, claim: { file, line, lines, root, torn: null } };
  }
  if (record.record !== "recovery") return null;
  const { log, lines, root, torn_bytes, torn_hash, file: about } = record;
  return {
    key: log ?? `file:${about}`,
    claim: { file, line, lines, root, torn: { bytes: torn_bytes, hash: torn_hash } },
  };
}

/** The log that most of the first lines name: one of them may be damaged. */
function mostNamed(named: readonly (string | null)[]): string | null {
  const logs = named.filter((log) => log !== null);
  return logs.find((log, i) => logs.indexOf(log) !== i) ?? logs[0] ?? null;
}

function byAge(a: SurveyedLog, b: SurveyedLog): number {
  if (a.opened !== b.opened) return a.opened < b.opened ? -1 : 1;
  const left = parseFileName(a.file);
  const right = parseFileName(b.file);
  if (left !== null && right !== null && left.stem === right.stem) return left.number - right.number;
  return a.file < b.file ? -1 : 1;
}

/** The first few complete lines. */
function firstLines(path: string): readonly Buffer[] {
  let fd: number;
  try {
    fd = openRegular(path);
  } catch {
    return [];
  }
  try {
    let bytes = Buffer.alloc(0);
    for (let want = FIRST_BYTES; ; want *= 8) {
      const chunk = Buffer.alloc(want - bytes.length);
      const read = readSync(fd, chunk, 0, chunk.length, bytes.length);
      bytes = Buffer.concat([bytes, chunk.subarray(0, read)]);
      const lines = splitLines(bytes);
      const needed = neededOf(lines);
      if (lines.length >= needed || read < chunk.length || want > MAX_FIRST_LINES * MAX_LINE_BYTES) {
        return lines.slice(0, needed);
      }
    }
  } catch {
    return [];
  } finally {
    closeSync(fd);
  }
}

async function firstCompressed(path: string): Promise<readonly Buffer[]> {
  const lines: Buffer[] = [];
  try {
    for await (const { bytes, overlong } of linesOf(path)) {
      if (overlong || lines.push(Buffer.from(bytes)) >= neededOf(lines)) break;
    }
  } catch (error) {
    // What is damaged is told when all of it is read; which log it was, its beginning says.
    if (error instanceof DamagedGzip) return splitLines(beginningOf(path)).slice(0, MAX_FIRST_LINES);
  }
  return lines;
}

/** How many lines are looked at: to the one after the last recovery. */
function neededOf(lines: readonly Buffer[]): number {
  let needed = FIRST_LINES;
  while (needed < MAX_FIRST_LINES && lines[needed - 1]?.includes(RECOVERY)) needed++;
  return needed;
}

function splitLines(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
