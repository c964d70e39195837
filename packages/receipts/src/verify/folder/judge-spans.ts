/** Holds what spans claim of receipts against the logs that they name. */

import { join } from "node:path";
import type { Findings } from "../findings.ts";
import { wordOf } from "../lines/word-of.ts";
import { type Scope, SPANS_FOLDER } from "../survey/scope.ts";
import { readSpanClaims, type SpanClaim } from "./span-claims.ts";

export interface SpanFacts {
  readonly scope: Scope;
  /** On later passes only claims are judged: the files were. */
  readonly pass: number;
  /** False for a claim of a receipt that is not there; true or undefined when it is, or when that is said elsewhere. */
  readonly holds: (claim: SpanClaim) => boolean | undefined;
  readonly findings: Findings;
}

/** Judges the claims of all files of spans; returns how many there are. */
export async function judgeSpans({ scope, pass, holds, findings }: SpanFacts): Promise<number> {
  let claims = 0;
  for (const { name, bytes } of scope.spans) {
    const file = `${SPANS_FOLDER}/${name}`;
    try {
      const read = await readSpanClaims(join(scope.root ?? "", file), bytes, (claim) => {
        claims++;
        if (holds(claim) !== false) return;
        const { dispatchId, log, line } = claim;
        const message = `its span names a durable receipt of dispatch ${dispatchId} in log ${log}, which is not there`;
        findings.add("MISSING_RECEIPT", file, line, message);
      });
      if (pass > 0) continue;
      for (const line of read.unreadable) findings.add("UNREADABLE_SPANS", file, line, "it is no export request");
      if (read.torn !== null) findings.add("TORN_SPAN", file, read.torn, "it was not written to its end");
    } catch (error) {
      if (pass === 0) findings.add("UNREADABLE_SPANS", file, null, wordOf(error));
    }
  }
  return claims;
}
