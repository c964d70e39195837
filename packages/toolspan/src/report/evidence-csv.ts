/** `report --format csv`: a row for each action, then one for each gap, then the verdict (RFC 4180). */

import { terminalText } from "../terminal/terminal-text.ts";
import type { EvidenceEntry } from "./evidence-entry.ts";
import type { EvidenceGap, EvidenceWriter } from "./evidence-writer.ts";

/** Every column, in order; the compiler keeps the list whole. */
const COLUMNS: readonly (keyof EvidenceEntry)[] = Object.keys({
  started_at: 0,
  duration_ms: 0,
  agent_name: 0,
  session_id: 0,
  run_id: 0,
  provider: 0,
  model: 0,
  tool_name: 0,
  kind: 0,
  executor: 0,
  tool_call_id: 0,
  decision: 0,
  decided_by: 0,
  decided_at: 0,
  policy_stage: 0,
  policy_level: 0,
  reason: 0,
  status: 0,
  ok: 0,
  refused: 0,
  error_type: 0,
  error_category: 0,
  attempts: 0,
  replayed: 0,
  layers: 0,
  args_hash: 0,
  executed_args_hash: 0,
  args_redacted: 0,
  result_hash: 0,
  tool_hash: 0,
  iteration: 0,
  turn_index: 0,
  emit_order: 0,
  truncated: 0,
  dispatch_id: 0,
  trace_id: 0,
  span_id: 0,
  emitted_at: 0,
  file: 0,
  line: 0,
  log: 0,
  seq: 0,
} satisfies Record<keyof EvidenceEntry, 0>) as (keyof EvidenceEntry)[];

/** What a spreadsheet takes for a formula, also behind space, quotes or in full width. */
const FORMULA = /^[\s"'\u00A0]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20|%]/u;

/** One field: on one line, quoted where it has to be, and never a formula. */
export function csvField(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const whole = Array.isArray(value) ? value.join(" ") : String(value);
  const text = terminalText(FORMULA.test(whole) ? `'${whole}` : whole);
  return /[",;]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvEvidence(write: (text: string) => void): EvidenceWriter {
  const row = (fields: readonly unknown[]): void => write(`${fields.map(csvField).join(",")}\r\n`);
  let verdict: EvidenceGap | undefined;
  const say = ({ what, file, line, message }: EvidenceGap, record: string): void =>
    row([
      record,
      what,
      message,
      ...COLUMNS.map((column) => (column === "file" ? file : column === "line" ? line : null)),
    ]);
  return {
    begin(report) {
      const { integrity, authenticity, completeness } = report;
      const answers = `integrity ${integrity}, authenticity ${authenticity}, completeness ${completeness}`;
      const message = [answers, ...report.notChecked.map((text) => `not checked: ${text}`)].join("; ");
      verdict = { what: report.verdict, file: report.path, line: null, message };
      row(["record", "what", "message", ...COLUMNS]);
    },
    entry: (entry) => row(["action", null, null, ...COLUMNS.map((column) => entry[column])]),
    end({ gaps, more_gaps }) {
      for (const gap of gaps) say(gap, "gap");
      if (more_gaps > 0) say({ what: "MORE", file: "", line: null, message: `${more_gaps} more gaps` }, "gap");
      if (verdict !== undefined) say(verdict, "verdict");
    },
  };
}
