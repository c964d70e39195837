/** The first lines of a log: whose it is, what it found before it, and what dead writers left. */

import { fitText } from "../json-text.ts";
import type { Previous, SegmentOpen } from "../records/segment-open.ts";
import { inspectLog, type Predecessor, tornFields } from "./predecessor.ts";
import type { SegmentWriter } from "./segment-writer.ts";
import { thisWriter } from "./writer-identity.ts";

/** A session id is named in full as long as its line stays well within its size. */
const MAX_SESSION_BYTES = 49_152;

export interface OpeningFacts {
  /** Of the folder that the log lies in. */
  readonly folder: string;
  readonly sessionId: string | null;
  readonly verifierKey: string | null;
  /** 0 = none. */
  readonly heartbeatMs: number;
  /** A predecessor that was closed just now, or the name of a file that has to be looked at. */
  readonly before: Previous | string | null;
  /** Files of writers that died earlier. */
  readonly abandoned: readonly string[];
}

/** Writes `segment_open`, and a `recovery` for each log that a dead writer left. */
export function writeOpening(writer: SegmentWriter, facts: OpeningFacts): void {
  const { folder, sessionId, before, heartbeatMs } = facts;
  const found = typeof before === "string" ? inspectLog(folder, before) : null;
  const session_id = sessionId === null ? null : fitText(sessionId, MAX_SESSION_BYTES);
  const opening: Omit<SegmentOpen, "chain" | "emitted_at" | "schema_version"> = {
    record: "segment_open",
    session_id,
    writer: thisWriter(),
    previous: typeof before === "string" ? claimOf(found) : before,
    truncated: session_id === sessionId ? [] : ["/session_id"],
    heartbeat_ms: heartbeatMs === 0 ? null : heartbeatMs,
    verifier_key: facts.verifierKey,
  };
  writer.add({ ...opening });
  if (found !== null) writeRecovery(writer, found);
  for (const file of facts.abandoned) {
    if (file !== found?.file) writeRecovery(writer, inspectLog(folder, file));
  }
}

function claimOf(found: Predecessor | null): Previous | null {
  return found === null
    ? null
    : { file: found.file, log: found.log, lines: found.lines, root: found.root, state: found.state };
}

/** Vouches for what a dead writer has left; says nothing of other logs. */
function writeRecovery(writer: SegmentWriter, { file, log, lines, root, state, torn }: Predecessor): void {
  if (state !== "crashed") return;
  writer.add({ record: "recovery", file, log, lines, root, ...tornFields(torn) });
}
