/** Wire record `segment_open`: the first line of every log. */

import { type Envelope, envelope } from "./envelope.ts";
import { closed, count, type Fields, hex64, listOf, matching, oneOf, orNull, text, time, uuid } from "./field.ts";

/** The process that writes a log, as far as another process can check that it still runs. */
export interface Writer {
  /** `sha256:<hex>` of the host's name: equal on one host, not the name itself. */
  readonly host: string;
  /** The operating system's id of this boot; null where it has none. */
  readonly boot: string | null;
  readonly pid: number;
  /** When the process started. */
  readonly started_at: string;
}

/** What the writer found of the log before this one: a claim about that file's first `lines` lines. */
export interface Previous {
  readonly file: string;
  /** Null when the file had no readable first line. */
  readonly log: string | null;
  readonly lines: number;
  /** RFC 6962 root over those lines, lower-case hex. */
  readonly root: string;
  readonly state: "closed" | "crashed" | "live" | "unknown";
}

export interface SegmentOpen extends Envelope {
  readonly record: "segment_open";
  /** The session's true id; null for calls without a session and for a log of all sessions. */
  readonly session_id: string | null;
  readonly writer: Writer;
  readonly previous: Previous | null;
  readonly truncated: readonly string[];
  /** After so many idle milliseconds the writer adds a `heartbeat`; null when it adds none for being idle. */
  readonly heartbeat_ms: number | null;
  /** The key that is to sign this log's heads, as its writer says: a claim, which nobody may trust. Null for an unsigned log. */
  readonly verifier_key: string | null;
}

export const segmentOpenFields: Fields<SegmentOpen> = {
  ...envelope("segment_open"),
  session_id: orNull(text),
  writer: closed({ boot: orNull(text), host: matching(/^sha256:[0-9a-f]{64}$/), pid: count, started_at: time }),
  previous: orNull(
    closed({
      file: text,
      lines: count,
      log: orNull(uuid),
      root: hex64,
      state: oneOf(["closed", "crashed", "live", "unknown"]),
    }),
  ),
  truncated: listOf(text),
  heartbeat_ms: orNull(count),
  verifier_key: orNull(text),
};
