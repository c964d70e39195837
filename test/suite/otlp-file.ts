// A reader of OTLP JSONL files of its own: the stories must not trust the command's reader.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly OtlpValue[] };
}

export interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly flags?: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly events?: readonly { readonly timeUnixNano: string; readonly name: string }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

export interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly scope: { readonly name: string }; readonly spans: readonly OtlpSpan[] }[];
  }[];
}

/** Every line of every file in `<folder>/spans`. */
export function requestsIn(folder: string): readonly OtlpRequest[] {
  return textsIn(folder, "spans").map((line) => JSON.parse(line) as OtlpRequest);
}

export function spansIn(folder: string): readonly OtlpSpan[] {
  return requestsIn(folder).flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  );
}

/** Every record of every log in `<folder>/receipts`. */
export function recordsIn(folder: string): readonly Readonly<Record<string, unknown>>[] {
  return textsIn(folder, "receipts").map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}

export function receiptsIn(folder: string): readonly Readonly<Record<string, unknown>>[] {
  return recordsIn(folder).filter(({ record }) => record === "receipt");
}

export function attribute({ attributes }: OtlpSpan, name: string): string | number | boolean | undefined {
  const value = attributes.find(({ key }) => key === name)?.value;
  if (value === undefined) return undefined;
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue);
}

/** A span and what is below it, children in the order of their starts. */
export interface OtlpTree {
  readonly span: OtlpSpan;
  readonly children: readonly OtlpTree[];
}

/** The trees of all traces; a parent that is not there is an error of the test's subject. */
export function treesOf(spans: readonly OtlpSpan[]): readonly OtlpTree[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  if (byId.size !== spans.length) throw new Error("two spans have one id");
  const below = new Map<string | undefined, OtlpSpan[]>();
  for (const span of spans) {
    const parent = span.parentSpanId;
    if (parent !== undefined && byId.get(parent)?.traceId !== span.traceId) throw new Error(`${span.name}: no parent`);
    below.set(parent, [...(below.get(parent) ?? []), span]);
  }
  const tree = (span: OtlpSpan): OtlpTree => ({
    span,
    children: (below.get(span.spanId) ?? []).toSorted(byStart).map(tree),
  });
  return (below.get(undefined) ?? []).toSorted(byStart).map(tree);
}

export function isWithin(inner: OtlpSpan, outer: OtlpSpan): boolean {
  return (
    BigInt(inner.startTimeUnixNano) >= BigInt(outer.startTimeUnixNano) &&
    BigInt(inner.endTimeUnixNano) <= BigInt(outer.endTimeUnixNano) &&
    BigInt(inner.startTimeUnixNano) <= BigInt(inner.endTimeUnixNano)
  );
}

function byStart(a: OtlpSpan, b: OtlpSpan): number {
  return BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1;
}

/** Every line of the JSONL files of one kind. */
export function textsIn(folder: string, kind: "spans" | "receipts"): readonly string[] {
  return filesIn(folder, kind).flatMap((path) => readFileSync(path, "utf8").split("\n").slice(0, -1));
}

/** Paths of the JSONL files of one kind, sorted. */
export function filesIn(folder: string, kind: "spans" | "receipts"): readonly string[] {
  return readdirSync(join(folder, kind))
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .map((name) => join(folder, kind, name));
}
