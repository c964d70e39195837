/** The command `verify`: asks receipts' verifier, and says what it said, what it found where, and what it did not check. */

import { type Finding, type VerifyReport, verifyLog } from "@toolspan/receipts";
import { CommandError } from "./command-error.ts";
import type { Console, Screen } from "./console.ts";
import type { ExitCode } from "./exit-code.ts";
import { exists } from "./files.ts";
import type { Paint } from "./paint.ts";
import { progressBar } from "./progress-bar.ts";
import { count, counted } from "./quantity.ts";
import { toReportJson } from "./report-json.ts";
import { terminalText } from "./terminal-text.ts";

export interface VerifyCommandOptions {
  readonly allowOpen?: number;
  readonly strict?: true;
  readonly trust?: string;
  readonly json?: true;
}

/**
 * Verifies a receipt log or a folder of them, offline.
 *
 * @returns The verifier's exit code: 0 what was asked holds, 1 something contradicts, 2 it cannot be said.
 * @throws CommandError where there is no such path.
 */
export async function verify(console: Console, path: string, options: VerifyCommandOptions): Promise<ExitCode> {
  for (const named of [path, options.trust ?? path]) {
    if (!(await exists(named))) throw new CommandError(`${named}: no such file or folder`);
  }
  const { json, ...asked } = options;
  const bar = progressBar(console.err, "verifying", 1);
  const report = await verifyLog(path, {
    ...asked,
    onProgress: ({ bytes, totalBytes, logs, totalLogs }) =>
      bar.update(totalBytes === 0 ? 0 : bytes / totalBytes, `${count(logs)} of ${counted(totalLogs, "log")}`),
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

function shade({ exitCode }: VerifyReport, paint: Paint): (text: string) => string {
  if (exitCode === 0) return paint.good;
  return exitCode === 1 ? paint.bad : paint.warn;
}

function findingLine({ verdict, file, line, message }: Finding): string {
  return terminalText(`${file}${line === null ? "" : `:${line}`}: ${verdict}: ${message}`);
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
}
