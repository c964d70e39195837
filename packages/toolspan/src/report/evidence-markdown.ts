/** `report --format md`: the verdict first, then what it covers. */

import type { VerifyReport } from "@toolspan/receipts";
import { count, counted, duration } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import type { EvidenceEntry } from "./evidence-entry.ts";
import type { EvidenceEnd, EvidenceGap, EvidenceWriter } from "./evidence-writer.ts";

/** Everything that Markdown, its HTML, its autolinks and its tables give a meaning to. */
const MARKS = /[\\`*_{}[\]<>()#+!|~&:@$=^"']/g;
const MAX_CELL = 300;
const NONE = "–";

/** Text that means nothing to Markdown, on one line, cut to a length. */
export function markdownText(text: string): string {
  const short = text.length <= MAX_CELL ? text : `${text.slice(0, MAX_CELL)}…`;
  return terminalText(short).replace(MARKS, "\\$&").replace(/www\./gi, "www\\.");
}

export function markdownEvidence(write: (text: string) => void): EvidenceWriter {
  const line = (text = ""): void => write(`${text}\n`);
  return {
    begin(report) {
      for (const text of opening(report)) line(text);
      line("## Actions");
      line();
      line("| when | who | what | by what authority | outcome | evidence |");
      line("| --- | --- | --- | --- | --- | --- |");
    },
    entry: (entry) => line(row(entry)),
    end(end) {
      for (const text of closing(end)) line(text);
    },
  };
}

function opening(report: VerifyReport): readonly string[] {
  const { verdict, integrity, authenticity, completeness, counts, path } = report;
  return [
    "# What an agent's tools did",
    "",
    `From ${markdownText(path)}: ${counted(counts.logs, "log")}, ${counted(counts.lines, "line")}, ${counted(counts.receipts, "receipt")}. It shows verified lines only, and helps evidence; it is no judgement on any rule or law.`,
    "",
    `**${markdownText(verdict.replace("_", " "))}** (exit code ${report.exitCode}): integrity ${integrity}, authenticity ${authenticity}, completeness ${completeness}.`,
    "",
    "Not checked:",
    "",
    ...report.notChecked.map((text) => `- ${markdownText(text)}`),
    "",
  ];
}

function row(entry: EvidenceEntry): string {
  const cells = [when(entry), who(entry), what(entry), authority(entry), outcome(entry), evidence(entry)];
  return `| ${cells.join(" | ")} |`;
}

function when({ started_at, duration_ms }: EvidenceEntry): string {
  return `${markdownText(started_at)}, took ${duration(duration_ms)}`;
}

function who({ agent_name, provider, model, session_id, run_id }: EvidenceEntry): string {
  return list([
    agent_name,
    named("model", joined(provider, model)),
    named("session", session_id),
    named("run", run_id),
  ]);
}

function what({ tool_name, kind, tool_call_id, executor, args_hash, args_redacted }: EvidenceEntry): string {
  const redacted = args_redacted.length === 0 ? null : args_redacted.join(", ");
  return list([
    tool_name,
    kind,
    named("call", tool_call_id),
    named("by", executor),
    named("arguments", args_hash),
    named("without", redacted),
  ]);
}

/** Who said that it may happen; the reason is the model's own. */
function authority({ decision, decided_by, decided_at, policy_stage, policy_level, reason }: EvidenceEntry): string {
  const consent = decision === null ? null : [decision, named("by", decided_by), named("at", decided_at)];
  const said = list([
    consent === null ? null : consent.filter((part) => part !== null).join(" "),
    named("stage", joined(policy_stage, policy_level)),
    named("the model's reason:", reason),
  ]);
  return said === NONE ? "none recorded" : said;
}

function outcome({
  status,
  error_type,
  error_category,
  refused,
  attempts,
  replayed,
  result_hash,
}: EvidenceEntry): string {
  return list([
    refused ? `${status}: refused` : status,
    error_type === status ? null : error_type,
    error_category === status || error_category === error_type ? null : error_category,
    attempts > 1 ? `${attempts} attempts` : null,
    replayed ? "replayed" : null,
    named("result", result_hash),
  ]);
}

function evidence({ file, line, dispatch_id, trace_id }: EvidenceEntry): string {
  return list([`${file}:${line}`, named("dispatch", dispatch_id), named("trace", trace_id)]);
}

function closing({ refusals, more_refusals, gaps, more_gaps, totals }: EvidenceEnd): readonly string[] {
  const statuses = Object.entries(totals.statuses).map(([status, times]) => `${markdownText(status)} ${count(times)}`);
  return [
    "",
    "## Refusals",
    "",
    ...(refusals.length === 0 ? ["None among the lines that were verified."] : refusals.map(refusalLine)),
    ...(more_refusals === 0 ? [] : [`- and ${count(more_refusals)} more, among the actions`]),
    "",
    "## Gaps",
    "",
    ...(gaps.length === 0 ? ["None that these files show."] : gaps.map(gapLine)),
    ...(more_gaps === 0 ? [] : [`- and ${count(more_gaps)} more`]),
    "",
    "## Totals",
    "",
    `${counted(totals.receipts, "receipt")}: ${count(totals.ok)} ok, ${count(totals.failed)} failed, ${count(totals.refused)} refused; ${count(totals.replayed)} replayed; ${counted(totals.lines_not_shown, "line")} not shown.`,
    ...(statuses.length === 0 ? [] : ["", `By status: ${statuses.join(", ")}.`]),
  ];
}

function refusalLine(entry: EvidenceEntry): string {
  return `- ${markdownText(entry.started_at)}: ${markdownText(entry.tool_name)}, ${outcome(entry)}; ${authority(entry)}; ${markdownText(`${entry.file}:${entry.line}`)}`;
}

function gapLine({ what: kind, file, line, message }: EvidenceGap): string {
  return `- ${markdownText(`${file}${line === null ? "" : `:${line}`}: ${kind}: ${message}`)}`;
}

function list(parts: readonly (string | null)[]): string {
  const said = parts.filter((part) => part !== null && part !== "");
  return said.length === 0 ? NONE : said.map((part) => markdownText(part as string)).join(", ");
}

function named(name: string, value: string | null): string | null {
  return value === null ? null : `${name} ${value}`;
}

function joined(one: string | null, two: string | null): string | null {
  return one === null ? two : two === null ? one : `${one}/${two}`;
}
