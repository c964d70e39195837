// Every way to spoil a closed log that its verifier must notice, as a list that any verifier can be held against.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { VerifyReport } from "@toolspan/receipts";

/** A changed file, and what the verifier has to say. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly bytes: Buffer;
  /** Null where either will do: a bit can turn a key into an unknown one. */
  readonly exitCode: 1 | 2 | null;
  /** Line that has to be named; null where only the file can be told. */
  readonly line: number | null;
}

export type Verify = (folder: string) => Promise<VerifyReport>;

export function headsOf(receipts: string): readonly string[] {
  return readdirSync(receipts).filter((name) => /\.heads?$/.test(name));
}

/** Every single bit of `file`, or the bits that `wanted` asks for. */
export function* bitFlips(
  receipts: string,
  file: string,
  wanted: (at: number, bit: number, bytes: Buffer) => boolean = () => true,
): Generator<Mutation> {
  const bytes = readFileSync(join(receipts, file));
  let line = 1;
  for (let at = 0; at < bytes.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      if (!wanted(at, bit, bytes)) continue;
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ (1 << bit);
      yield { name: `bit ${bit} of byte ${at}`, file, bytes: changed, exitCode: 1, line };
    }
    if (bytes[at] === 0x0a) line++;
  }
}

/** As bits of a head: they can turn a key or an origin into an unknown one, and only the file is named. */
export function ofHead(mutation: Mutation): Mutation {
  return { ...mutation, exitCode: null, line: null };
}

/** Each line deleted, swapped with the next, duplicated, and one put in before it. */
export function* lineEdits(receipts: string, file: string): Generator<Mutation> {
  const lines = readFileSync(join(receipts, file), "utf8").split("\n").slice(0, -1);
  const edit = (name: string, at: number, edited: readonly string[]): Mutation => {
    return {
      name: `${name} ${at + 1}`,
      file,
      bytes: Buffer.from(edited.map((l) => `${l}\n`).join("")),
      exitCode: 1,
      line: at + 1,
    };
  };
  const earlier = lines[1] as string;
  const later = lines.at(-2) as string;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string;
    yield edit("delete", at, lines.toSpliced(at, 1));
    yield edit("duplicate", at + 1, lines.toSpliced(at, 0, line));
    yield edit("insert nothing before", at, lines.toSpliced(at, 0, ""));
    if (line !== earlier) yield edit("insert an earlier line before", at, lines.toSpliced(at, 0, earlier));
    if (line !== later && lines[at - 1] !== later)
      yield edit("insert a later line before", at, lines.toSpliced(at, 0, later));
    if (at + 1 < lines.length) yield edit("swap", at, lines.toSpliced(at, 2, lines[at + 1] as string, line));
  }
}

/** Runs `verify` on each mutation; returns those that it missed, got wrong, or did not find at their place. */
export async function missedBy(
  verify: Verify,
  root: string,
  mutations: Iterable<Mutation>,
  counted: { count: number } = { count: 0 },
): Promise<readonly string[]> {
  const missed: string[] = [];
  for (const { name, file, bytes, exitCode, line } of mutations) {
    counted.count++;
    const path = join(root, "receipts", file);
    const honest = readFileSync(path);
    writeFileSync(path, bytes);
    const report = await verify(root);
    writeFileSync(path, honest);
    const found = report.findings.filter((finding) => finding.file === `receipts/${file}`);
    const placed = found.length > 0 && (line === null || found[0]?.line === null || found[0]?.line === line);
    const right = exitCode === null ? report.exitCode !== 0 : report.exitCode === exitCode;
    if (!right || !placed) {
      missed.push(`${name} of ${file}: exit ${report.exitCode}, ${JSON.stringify(report.findings.slice(0, 3))}`);
    }
  }
  return missed;
}
