/** What the demo says when it is done: for machines one object, for people counts, places, one run, and what to do next. */

import { relative } from "node:path";
import type { ReceiptsOnDisk, SpansOnDisk } from "../show/read-back.ts";
import { toSpanTrees } from "../show/span-tree.ts";
import { waterfall } from "../show/waterfall.ts";
import type { Screen } from "../terminal/console.ts";
import { count, counted, duration } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import type { ReplayTally } from "./replay-runs.ts";

/** Of the run that is shown; `toolspan show` draws it whole. */
const MAX_ROWS = 80;

export interface DemoReport {
  /** State folder, absolute. */
  readonly folder: string;
  readonly stack: string;
  readonly tally: ReplayTally;
  readonly spans: SpansOnDisk;
  /** Null where no span was written. */
  readonly spansFile: string | null;
  readonly receipts: ReceiptsOnDisk;
  readonly elapsedMs: number;
}

/** True when every dispatch has its span and its receipt on disk, and the receipts tell of the same failures. */
export function countsAgree({ tally, spans, receipts }: DemoReport): boolean {
  const { dispatches, failedTools } = tally;
  return spans.dispatches === dispatches && receipts.receipts === dispatches && receipts.failed === failedTools;
}

/** The object of `--json`. */
export function demoJson(report: DemoReport): object {
  const { tally, spans, receipts } = report;
  return {
    runs: tally.runs,
    dispatches: tally.dispatches,
    spans: spans.dispatches,
    receipts: receipts.receipts,
    failed_tools: tally.failedTools,
    malformed_lines: tally.malformedLines,
    broken_runs: tally.brokenRuns,
    counts_agree: countsAgree(report),
    elapsed_ms: Math.round(report.elapsedMs),
    stack: report.stack,
    state_folder: report.folder,
    spans_file: report.spansFile,
    receipt_logs: receipts.logs.length,
  };
}

/** Prints the report for people. */
export function printDemo(out: Screen, report: DemoReport): void {
  for (const line of [...countLines(report, out), ...sampleLines(report, out), ...nextLines(report, out)]) {
    out.write(`${line}\n`);
  }
}

function countLines(report: DemoReport, { paint }: Screen): readonly string[] {
  const { tally, spans, receipts, spansFile } = report;
  const failed = tally.failedTools === 0 ? "none failed" : `${count(tally.failedTools)} failed`;
  const verdict = countsAgree(report)
    ? paint.good("Every tool call has its span and its receipt.")
    : paint.bad("The counts differ: something was not written.");
  return [
    `${counted(tally.runs, "run")}, ${counted(tally.dispatches, "tool call")} (${failed}) in ${duration(report.elapsedMs)}`,
    "",
    row("dispatches", tally.dispatches, ""),
    row("execute_tool spans", spans.dispatches, spansFile === null ? "" : `in ${place(spansFile)}`),
    row("receipts", receipts.receipts, receiptsPlace(receipts)),
    "",
    verdict,
  ];
}

function row(what: string, value: number, where: string): string {
  return `  ${what.padEnd(20)}${count(value).padStart(9)}   ${where}`.trimEnd();
}

function receiptsPlace({ logs }: ReceiptsOnDisk): string {
  const first = logs[0];
  if (first === undefined) return "";
  return logs.length === 1
    ? `in ${place(first)}`
    : `in ${place(first)} and ${counted(logs.length - 1, "log")} beside it`;
}

function sampleLines({ receipts, spans }: DemoReport, { columns, paint }: Screen): readonly string[] {
  const { sample } = receipts;
  if (sample === undefined || spans.traced.length === 0) return [];
  const title = `One of the runs, ${sample.sessionId ?? "without a session"}, trace ${sample.traceId}:`;
  const drawn = waterfall(toSpanTrees(spans.traced), columns, paint);
  const unseen = drawn.length - 1 - MAX_ROWS;
  const more = unseen > 0 ? [paint.faint(`and ${counted(unseen, "more span", "more spans")}`)] : [];
  return ["", paint.strong(terminalText(title)), "", ...drawn.slice(0, MAX_ROWS + 1), ...more];
}

function nextLines({ folder, receipts }: DemoReport, { paint }: Screen): readonly string[] {
  const session = receipts.sample?.sessionId ?? undefined;
  const shown = place(folder);
  return [
    "",
    `Check what it left behind:  ${paint.strong(`npx toolspan verify ${shown}`)}`,
    ...(session === undefined
      ? []
      : [`See a run again:            ${paint.strong(`npx toolspan show ${terminalText(session)} --out ${shown}`)}`]),
  ];
}

/** A path as one would type it here. */
function place(path: string): string {
  const near = relative(process.cwd(), path) || ".";
  return terminalText(near.startsWith("..") ? path : near);
}
