/** What spans claim of receipts: read from OTLP/JSON lines, one export request a line. */

import { isObject } from "../../records/field.ts";
import { readLines } from "../lines/read-lines.ts";

/** A span that names a durable receipt in a local log. */
export interface SpanClaim {
  readonly dispatchId: string;
  readonly log: string;
  readonly line: number;
}

const DURABLE: ReadonlySet<unknown> = new Set(["durable", "sealed", "anchored"]);
/** A batch of spans with their content is long; what is longer than this is not read. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;

export interface ReadSpans {
  /** Lines that are no export request. */
  readonly unreadable: readonly number[];
  readonly torn: number | null;
}

/** Calls `take` for each claim in the first `upTo` bytes of `path`. */
export async function readSpanClaims(path: string, upTo: number, take: (claim: SpanClaim) => void): Promise<ReadSpans> {
  const unreadable: number[] = [];
  const tail = await readLines(
    path,
    ({ bytes, overlong }, line) => {
      const claims = overlong ? null : claimsIn(bytes, line);
      if (claims === null) unreadable.push(line);
      else for (const claim of claims) take(claim);
    },
    { maxBytes: MAX_LINE_BYTES, upTo },
  );
  return { unreadable: unreadable.slice(0, 100), torn: tail.bytes.length > 0 ? tail.lines + 1 : null };
}

function claimsIn(bytes: Buffer, line: number): readonly SpanClaim[] | null {
  let request: unknown;
  try {
    request = JSON.parse(bytes.toString("utf8"));
  } catch {
    return null;
  }
  if (!isObject(request)) return null;
  return listIn(request.resourceSpans)
    .flatMap((resource) => listIn(resource.scopeSpans))
    .flatMap((scope) => listIn(scope.spans))
    .flatMap((span) => claimOf(listIn(span.attributes), line) ?? []);
}

function claimOf(attributes: readonly Readonly<Record<string, unknown>>[], line: number): SpanClaim | null {
  const text = (key: string): string | null => {
    const value = attributes.find((attribute) => attribute.key === key)?.value;
    return isObject(value) && typeof value.stringValue === "string" ? value.stringValue : null;
  };
  const dispatchId = text("toolspan.dispatch_id");
  const log = text("toolspan.receipt.log");
  if (dispatchId === null || log === null || !DURABLE.has(text("toolspan.receipt.level"))) return null;
  return { dispatchId, log, line };
}

function listIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
