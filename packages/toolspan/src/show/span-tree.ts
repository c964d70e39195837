/** Spans of one trace, arranged: who is inside whom, in the order of their starts. */

import type { TraceSpan } from "./trace-span.ts";

export interface SpanNode {
  readonly span: TraceSpan;
  readonly children: readonly SpanNode[];
}

interface Growing extends SpanNode {
  readonly children: Growing[];
}

/** The roots of the spans given: a span whose parent is not among them, and the first of those that name each other. */
export function toSpanTrees(spans: readonly TraceSpan[]): readonly SpanNode[] {
  const nodes = spans.toSorted(byStart).map((span): Growing => ({ span, children: [] }));
  const byId = new Map(nodes.toReversed().map((node) => [node.span.spanId, node]));
  const roots: Growing[] = [];
  for (const node of nodes) parentOf(node, byId, roots).push(node);
  const reached = new Set(inOrder(roots));
  for (const node of nodes) {
    if (reached.has(node)) continue;
    const siblings = parentOf(node, byId, roots);
    siblings.splice(siblings.indexOf(node), 1);
    roots.push(node);
    for (const below of inOrder([node])) reached.add(below);
  }
  return roots;
}

/** Every node, each before what is inside it. Without recursion: a file may nest its spans as deep as it likes. */
export function inOrder<N extends SpanNode>(roots: readonly N[]): readonly N[] {
  const found: N[] = [];
  const waiting = [...roots].reverse();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    found.push(node);
    for (const child of node.children.toReversed()) waiting.push(child as N);
  }
  return found;
}

/** A node's own duration less the union of its children's, milliseconds. */
export function selfMs({ span, children }: SpanNode): number {
  let covered = 0n;
  let until = span.startedAt;
  for (const { span: child } of children) {
    const from = later(child.startedAt, until);
    if (child.endedAt <= from) continue;
    covered += child.endedAt - from;
    until = child.endedAt;
  }
  return msBetween(covered, span.endedAt - span.startedAt);
}

/** Milliseconds between two instants in nanoseconds. */
export function msBetween(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6;
}

function parentOf(node: Growing, byId: ReadonlyMap<string, Growing>, roots: Growing[]): Growing[] {
  const { parentSpanId } = node.span;
  const parent = parentSpanId === null ? undefined : byId.get(parentSpanId);
  return parent === undefined || parent === node ? roots : parent.children;
}

function byStart(a: TraceSpan, b: TraceSpan): number {
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt ? -1 : 1;
  return a.endedAt === b.endedAt ? 0 : a.endedAt > b.endedAt ? -1 : 1;
}

export function earlier(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
