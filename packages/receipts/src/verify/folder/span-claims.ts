/** What spans claim of receipts: read from OTLP/JSON lines, one export request a line. */

import { objectsIn, otlpRequestIn, textAttribute } from "../lines/otlp-request.ts";
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
  const request = otlpRequestIn(bytes);
  if (request === null) return null;
  return objectsIn(request.resourceSpans)
    .flatMap((resource) => objectsIn(resource.scopeSpans))
    .flatMap((scope) => objectsIn(scope.spans))
    .flatMap((span) => claimOf(span.attributes, line) ?? []);
}

function claimOf(attributes: unknown, line: number): SpanClaim | null {
  const dispatchId = textAttribute(attributes, "toolspan.dispatch_id");
  const log = textAttribute(attributes, "toolspan.receipt.log");
  const level = textAttribute(attributes, "toolspan.receipt.level");
  return dispatchId === null || log === null || !DURABLE.has(level) ? null : { dispatchId, log, line };
}
