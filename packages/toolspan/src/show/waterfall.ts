/** Draws a trace as a waterfall: who was inside whom, when, for how long, and how it ended. */

import { ATTR } from "../attributes.ts";
import type { Paint } from "../terminal/paint.ts";
import { duration } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import { alignRight, inColumns, widthOf } from "../terminal/terminal-width.ts";
import { earlier, later, msBetween, type SpanNode, selfMs } from "./span-tree.ts";
import { attributeOf } from "./trace-span.ts";

interface Row {
  readonly label: string;
  readonly node: SpanNode;
  readonly outcome: string;
}

interface Layout {
  /** Columns. */
  readonly label: number;
  readonly bar: number;
  /** Nanoseconds since the Unix epoch at the left end of the bars. */
  readonly from: bigint;
  readonly lengthMs: number;
}

const TIME_COLUMNS = 9;
const BAR_COLUMNS = { least: 10, most: 32 };
const LABEL_COLUMNS = { least: 20 };
const OUTCOME_COLUMNS = { least: 7, most: 40 };
/** Deeper nesting is drawn no further to the right. */
const MAX_INDENT = 24;

/**
 * Draws trees on a common time line.
 *
 * @param columns Width of the screen; lines keep to it as long as their parts have their least columns.
 * @returns Lines without their newlines, the first a heading. What comes from spans is escaped.
 */
export function waterfall(roots: readonly SpanNode[], columns: number, paint: Paint): readonly string[] {
  const rows = rowsOf(roots);
  const layout = layOut(rows, columns);
  const heading = [
    inColumns("span", layout.label),
    " ".repeat(layout.bar),
    alignRight("took", TIME_COLUMNS),
    alignRight("self", TIME_COLUMNS),
    "outcome",
  ];
  return [paint.faint(heading.join(" ")), ...rows.map((row) => line(row, layout, paint))];
}

/** Without recursion: a file may nest its spans as deep as it likes. */
function rowsOf(roots: readonly SpanNode[]): readonly Row[] {
  const rows: Row[] = [];
  const waiting = roots.map((node) => ({ node, stem: "", below: "" })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, stem, below } = next;
    rows.push({ label: stem + terminalText(node.span.name), node, outcome: outcomeOf(node) });
    const last = node.children.length - 1;
    const inner = below.length < MAX_INDENT ? below : below.slice(2);
    for (const [index, child] of [...node.children.entries()].reverse()) {
      const ends = index === last;
      waiting.push({ node: child, stem: inner + (ends ? "└ " : "├ "), below: inner + (ends ? "  " : "│ ") });
    }
  }
  return rows;
}

function layOut(rows: readonly Row[], columns: number): Layout {
  const longest = rows.reduce((most, { label }) => Math.max(most, widthOf(label)), LABEL_COLUMNS.least);
  const widest = rows.reduce((most, { outcome }) => Math.max(most, widthOf(outcome)), OUTCOME_COLUMNS.least);
  const spare = columns - 2 * TIME_COLUMNS - Math.min(widest, OUTCOME_COLUMNS.most) - 4;
  const bar = Math.min(BAR_COLUMNS.most, Math.max(BAR_COLUMNS.least, spare - longest));
  const [first, ...others] = rows.map(({ node }) => node.span);
  let from = first?.startedAt ?? 0n;
  let to = first?.endedAt ?? 0n;
  for (const { startedAt, endedAt } of others) {
    from = earlier(from, startedAt);
    to = later(to, endedAt);
  }
  return {
    label: Math.max(LABEL_COLUMNS.least, Math.min(longest, spare - bar)),
    bar,
    from,
    lengthMs: msBetween(from, to),
  };
}

function line({ label, node, outcome }: Row, layout: Layout, paint: Paint): string {
  const { span } = node;
  const measured = attributeOf(span, ATTR.layerSelfTimeMs);
  const bar = barOf(node, layout);
  const columns = [
    inColumns(label, layout.label),
    span.failed ? paint.bad(bar) : paint.good(bar),
    alignRight(duration(msBetween(span.startedAt, span.endedAt)), TIME_COLUMNS),
    paint.faint(alignRight(duration(typeof measured === "number" ? measured : selfMs(node)), TIME_COLUMNS)),
    span.failed ? paint.bad(outcome) : outcome,
  ];
  return columns.join(" ").trimEnd();
}

/** The span's place on the time line; the shortest is still one cell. */
function barOf({ span }: SpanNode, { bar, from, lengthMs }: Layout): string {
  if (lengthMs <= 0) return "█".repeat(bar);
  const cell = (at: bigint): number => (msBetween(from, at) / lengthMs) * bar;
  const start = Math.min(bar - 1, Math.max(0, Math.floor(cell(span.startedAt))));
  const end = Math.min(bar, Math.max(start + 1, Math.round(cell(span.endedAt))));
  return "·".repeat(start) + "█".repeat(end - start) + "·".repeat(bar - end);
}

/** What a span says of its end: the layer's or the call's own word, the kind of failure, what a layer did to the call. */
function outcomeOf({ span }: SpanNode): string {
  const word = textOf(attributeOf(span, ATTR.layerStatus) ?? attributeOf(span, ATTR.status));
  const failure = textOf(attributeOf(span, ATTR.errorType));
  const parts = [
    word,
    failure === word ? "" : failure,
    attributeOf(span, ATTR.layerShortCircuited) === true ? "short-circuited" : "",
    attributeOf(span, ATTR.layerArgsChanged) === true ? "arguments changed" : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function textOf(value: unknown): string {
  return value === undefined ? "" : terminalText(String(value));
}
