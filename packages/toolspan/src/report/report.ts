/** The command `report`: evidence for somebody who was not there, from verified receipts only. */

import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { type LogRecord, readVerified, type VerifiedLine, type VerifyReport } from "@toolspan/receipts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { exists } from "../files/files.ts";
import type { Console } from "../terminal/console.ts";
import { count, counted } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import { EvidenceCollector } from "./evidence-collector.ts";
import { csvEvidence } from "./evidence-csv.ts";
import { toEvidenceEntry } from "./evidence-entry.ts";
import { jsonEvidence } from "./evidence-json.ts";
import { markdownEvidence } from "./evidence-markdown.ts";
import { type EvidenceWriter, gapOfUnverified, type MakeEvidenceWriter } from "./evidence-writer.ts";

export interface ReportCommandOptions {
  readonly format: "md" | "json" | "csv";
  readonly out?: string;
  readonly allowOpen?: number;
  readonly json?: true;
}

const FORMATS: Readonly<Record<ReportCommandOptions["format"], MakeEvidenceWriter>> = {
  md: markdownEvidence,
  json: jsonEvidence,
  csv: csvEvidence,
};

/**
 * Verifies a log or a folder, and reports what its verified lines say.
 *
 * @returns The verifier's exit code: 0 what was asked holds, 1 something contradicts, 2 it cannot be said.
 * @throws CommandError where there is no such path; what the system throws where `out` exists or cannot be written.
 */
export async function report(console: Console, path: string, options: ReportCommandOptions): Promise<ExitCode> {
  if (!(await exists(path))) throw new CommandError(`${path}: no such file or folder`);
  const { out, allowOpen, json } = options;
  const make = FORMATS[json ? "json" : options.format];
  if (out === undefined)
    return (
      await evidence(
        path,
        allowOpen,
        make((text) => console.out.write(text)),
      )
    ).exitCode;
  // Never over something that is there: an earlier report may be evidence itself.
  const fd = openSync(out, "wx", 0o600);
  try {
    const { exitCode, receipts, verdict } = await evidence(
      path,
      allowOpen,
      make((text) => writeAll(fd, text)),
    );
    console.err.write(`${terminalText(out)}: ${counted(receipts, "receipt")}, ${verdict.replace("_", " ")}\n`);
    return exitCode;
  } catch (error) {
    unlinkSync(out);
    throw error;
  } finally {
    closeSync(fd);
  }
}

interface Told {
  readonly exitCode: ExitCode;
  readonly verdict: string;
  readonly receipts: number;
}

async function evidence(path: string, allowOpen: number | undefined, writer: EvidenceWriter): Promise<Told> {
  const collector = new EvidenceCollector();
  let verified: VerifyReport | undefined;
  const lines = readVerified(path, {
    ...(allowOpen === undefined ? {} : { allowOpen }),
    onReport(said) {
      verified = said;
      for (const { verdict, file, line, message } of [...said.findings, ...said.notes])
        collector.gap({ what: verdict, file, line, message });
      writer.begin(said);
    },
    onUnverified(out) {
      collector.notShown(out.lines);
      collector.gap(gapOfUnverified(out));
    },
  });
  for await (const line of lines) take(line, collector, writer);
  const end = collector.end();
  writer.end(end);
  return {
    exitCode: verified?.exitCode ?? EXIT.unknown,
    verdict: verified?.verdict ?? "CANNOT_SAY",
    receipts: end.totals.receipts,
  };
}

function take(
  { file, line, record }: VerifiedLine<LogRecord>,
  collector: EvidenceCollector,
  writer: EvidenceWriter,
): void {
  if (record.record === "receipt") {
    const entry = toEvidenceEntry({ file, line, record });
    collector.add(entry);
    writer.entry(entry);
    if (entry.truncated.length === 0) return;
    const message = `the receipt was cut to its size: ${entry.truncated.join(" ")}`;
    collector.gap({ what: "CUT", file, line, message });
  } else if (record.record === "erasure") {
    const reason = record.reason === null ? "" : `, reason: ${record.reason}`;
    const message = `${count(record.openings)} openings were destroyed on purpose${reason}`;
    collector.gap({ what: "ERASED", file, line, message });
  } else if (record.record === "late_settlement") {
    const message = `the handler of dispatch ${record.dispatch_id} ended after its receipt was written`;
    collector.gap({ what: "LATE_SETTLEMENT", file, line, message });
  }
}

function writeAll(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(fd, bytes, offset, bytes.length - offset);
}
