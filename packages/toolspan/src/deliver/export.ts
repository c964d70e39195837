/** The command `export`: delivers receipts and heads of a state folder to an OTLP endpoint, once or until it is stopped. */

import { ToolspanError } from "@toolspan/core";
import { type ExportOptions, type ExportReport, exportReceipts, stateRoot } from "@toolspan/receipts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { isFolder } from "../files/files.ts";
import type { Console } from "../terminal/console.ts";
import { counted } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import { headersOf } from "./headers.ts";

export interface ExportCommandOptions {
  readonly endpoint?: string;
  readonly header?: readonly string[];
  readonly outside?: true;
  readonly follow?: true;
  readonly deadLetters?: true;
  /** Replays spans in place of receipts. */
  readonly spans?: true;
  /** Seconds without an answer after which it gives up. */
  readonly patience?: number;
  readonly json?: true;
}

/** SIGINT and SIGTERM are how `--follow` ends. */
const END_SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Delivers the receipts of a state folder.
 *
 * @returns 0 when the endpoint has everything, 1 when it refused something, now or before, which lies in the dead-letter file, 2 when something is left or cannot be read, or somebody else delivers.
 * @throws CommandError where there is no such folder or a header is none.
 */
export async function exportCommand(
  console: Console,
  dir: string | undefined,
  options: ExportCommandOptions,
): Promise<ExitCode> {
  const folder = stateRoot(dir);
  if (!(await isFolder(folder))) throw new CommandError(`${folder}: no such folder`);
  const stop = new AbortController();
  const end = (): void => stop.abort();
  for (const signal of END_SIGNALS) process.once(signal, end);
  try {
    const report = await exportReceipts({ ...receiptOptions(options), stateDir: folder, signal: stop.signal });
    if (options.json) console.out.write(`${JSON.stringify(toExportJson(report))}\n`);
    else for (const line of reportLines(report)) console.out.write(`${terminalText(line)}\n`);
    return exitCodeOf(report);
  } catch (error) {
    // The options of this command are the library's: what it refuses was wrong usage.
    if (ToolspanError.is(error, "TOOLSPAN_INVALID_OPTION")) throw new CommandError(error.message);
    throw error;
  } finally {
    for (const signal of END_SIGNALS) process.off(signal, end);
  }
}

function receiptOptions(options: ExportCommandOptions): ExportOptions {
  const { endpoint, outside = false, follow = false, deadLetters = false, patience } = options;
  return {
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(patience === undefined ? {} : { patienceMs: patience * 1000 }),
    headers: headersOf(options.header ?? []),
    outside,
    follow,
    deadLetters,
  };
}

function exitCodeOf({ deadLetters, left, heldBy }: ExportReport): ExitCode {
  if (heldBy !== null) return EXIT.unknown;
  if (deadLetters > 0) return EXIT.failed;
  return left.lines + left.heads + left.unreadable > 0 ? EXIT.unknown : EXIT.ok;
}

function reportLines({
  url,
  lines,
  heads,
  anchored,
  parked,
  left,
  deadLetters,
  heldBy,
}: ExportReport): readonly string[] {
  if (heldBy !== null) return [`${heldBy} delivers to ${url}; nothing was sent from here`];
  return [
    `${counted(lines, "line")} and ${counted(heads, "head")} delivered to ${url}`,
    ...(anchored > 0 ? [`${counted(anchored, "signed head")} anchored there`] : []),
    ...(parked > 0 ? [`${counted(parked, "record")} refused and parked`] : []),
    ...(deadLetters > 0
      ? [`${counted(deadLetters, "record")} in the dead-letter file; --dead-letters sends them again`]
      : []),
    ...(left.lines + left.heads > 0
      ? [`${counted(left.lines, "line")} and ${counted(left.heads, "head")} left; they stay in the logs`]
      : []),
    ...(left.unreadable > 0 ? [`${counted(left.unreadable, "log")} cannot be read`] : []),
  ];
}

function toExportJson(report: ExportReport): object {
  const { deadLetters, heldBy, ...same } = report;
  return { ...same, dead_letters: deadLetters, held_by: heldBy };
}
