/** The command `verify`: asks receipts' verifier, and says what it said, what it found where, and what it did not check. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { ToolspanError } from "@toolspan/core";
import { type Finding, type ProofReport, type VerifyReport, verifyLog, verifyProof } from "@toolspan/receipts";
import { CommandError } from "../command-error.ts";
import type { ExitCode } from "../exit-code.ts";
import { exists } from "../files/files.ts";
import { toReportJson } from "../files/report-json.ts";
import type { Console, Screen } from "../terminal/console.ts";
import type { Paint } from "../terminal/paint.ts";
import { progressBar } from "../terminal/progress-bar.ts";
import { count, counted } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import { watchYoungGeneration } from "../young-generation.ts";

/** Room for new objects, both halves together: next to nothing of what a verification makes lasts longer than its line. */
const YOUNG_BYTES = 4 * 1024 * 1024;

/** A line, its hashes, and texts that open commitments. */
const MAX_PROOF_BYTES = 256 * 1024 * 1024;

export interface VerifyCommandOptions {
  readonly allowOpen?: number;
  readonly strict?: true;
  readonly trust?: string;
  readonly anchors?: readonly string[];
  readonly jobs?: number;
  readonly proof?: string;
  readonly json?: true;
}

/**
 * Verifies a receipt log or a folder of them, offline.
 *
 * @returns The verifier's exit code: 0 what was asked holds, 1 something contradicts, 2 it cannot be said.
 * @param path A log or a folder; undefined with `--proof`.
 * @throws CommandError where there is no such path, `--trust` names no key, or a file of anchors cannot be read.
 */
export async function verify(
  console: Console,
  path: string | undefined,
  { proof, ...options }: VerifyCommandOptions,
): Promise<ExitCode> {
  try {
    if (proof !== undefined && path === undefined) return await verifyOneProof(console, proof, options);
    if (proof === undefined && path !== undefined) return await verifyLogs(console, path, options);
  } catch (error) {
    // The options of this command are the library's: what it refuses was wrong usage.
    if (ToolspanError.is(error, "TOOLSPAN_INVALID_OPTION")) throw new CommandError(error.message);
    throw error;
  }
  throw new CommandError("verify: a path or --proof <file>, not both and not neither");
}

async function verifyOneProof(
  console: Console,
  file: string,
  { trust, json }: VerifyCommandOptions,
): Promise<ExitCode> {
  if (!(await exists(file))) throw new CommandError(`${file}: no such file or folder`);
  const report = verifyProof(await proofIn(file), trust === undefined ? {} : { trust });
  if (json) {
    const { exitCode, notChecked, ...same } = report;
    console.out.write(`${JSON.stringify({ path: file, ...same, exit_code: exitCode, not_checked: notChecked })}\n`);
  } else for (const line of proofLines(file, report, console.out)) console.out.write(`${line}\n`);
  return report.exitCode;
}

/** A pipe without a writer or an endless device is refused, not waited for. */
async function proofIn(path: string): Promise<string> {
  const { O_RDONLY, O_NONBLOCK = 0 } = constants;
  const file = await open(path, O_RDONLY | O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new CommandError(`${path}: no regular file`);
    if (found.size > MAX_PROOF_BYTES) throw new CommandError(`${path}: longer than any proof`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

async function verifyLogs(console: Console, path: string, options: VerifyCommandOptions): Promise<ExitCode> {
  if (!(await exists(path))) throw new CommandError(`${path}: no such file or folder`);
  const { json, jobs, ...asked } = options;
  const bar = progressBar(console.err, "verifying", 1);
  const boundMemory = watchYoungGeneration(YOUNG_BYTES);
  const report = await verifyLog(path, {
    ...asked,
    ...(jobs === undefined ? {} : { workers: jobs }),
    onProgress: ({ bytes, totalBytes, logs, totalLogs }) => {
      boundMemory();
      bar.update(totalBytes === 0 ? 0 : bytes / totalBytes, `${count(logs)} of ${counted(totalLogs, "log")}`);
    },
  });
  bar.clear();
  if (json) console.out.write(`${JSON.stringify(toReportJson(report))}\n`);
  else for (const line of reportLines(report, console.out)) console.out.write(`${line}\n`);
  return report.exitCode;
}

function reportLines(report: VerifyReport, { paint }: Screen): readonly string[] {
  const { counts, findings, notes, leftOff, notChecked } = report;
  const verdict = terminalText(report.verdict.replace("_", " "));
  const seen = [
    counted(counts.logs, "log"),
    counted(counts.lines, "line"),
    counted(counts.receipts, "receipt"),
    counted(counts.heads, "head"),
    ...(counts.sealed === 0 ? [] : [`${counted(counts.sealed, "receipt")} sealed by a trusted key`]),
    ...(counts.anchors === 0
      ? []
      : [`${counted(counts.anchored, "receipt")} under ${counted(counts.anchors, "head")} kept elsewhere`]),
    ...(counts.span_claims === 0 ? [] : [`${counted(counts.span_claims, "span")} held against them`]),
  ];
  return [
    `${shade(report, paint)(paint.strong(verdict))}  ${terminalText(report.path)}`,
    `integrity ${report.integrity}, authenticity ${report.authenticity}, completeness ${report.completeness}`,
    seen.join(", "),
    ...section("Found:", findings.map(findingLine)),
    ...section("Worth knowing:", notes.map(findingLine)),
    ...(leftOff === 0 ? [] : [`  and ${count(leftOff)} more`]),
    ...section("Not checked:", notChecked.map(terminalText)),
  ];
}

function proofLines(file: string, report: ProofReport, { paint }: Screen): readonly string[] {
  const { receipt, opened } = report;
  const proved =
    receipt === null
      ? []
      : [
          `receipt ${receipt.dispatch_id}: ${receipt.tool_name}, ${receipt.status}, written ${receipt.emitted_at}`,
          `line ${receipt.chain.seq + 1} of log ${receipt.chain.log}`,
          ...opened.map((field) => `${field} is opened: the text in the proof is what was hashed`),
        ];
  return [
    `${shade(report, paint)(paint.strong(report.verdict.replace("_", " ")))}  ${terminalText(file)}`,
    `integrity ${report.integrity}, authenticity ${report.authenticity}`,
    ...proved.map(terminalText),
    ...section("Found:", report.findings.map(findingLine)),
    ...section("Not checked:", report.notChecked.map(terminalText)),
  ];
}

function shade({ exitCode }: { readonly exitCode: number }, paint: Paint): (text: string) => string {
  if (exitCode === 0) return paint.good;
  return exitCode === 1 ? paint.bad : paint.warn;
}

function findingLine({ verdict, file, line, message }: Finding): string {
  return terminalText(`${file}${line === null ? "" : `:${line}`}: ${verdict}: ${message}`);
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
}
