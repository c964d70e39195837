/** Every verdict of the verifier, what it answers, and the exit code it leads to: the one table of both. */

/** What is asked of a log. */
export type Question = "integrity" | "authenticity" | "completeness";

export interface VerdictFacts {
  /** 0 is a note, 1 a contradiction, 2 something that cannot be said. */
  readonly exitCode: 0 | 1 | 2;
  readonly question: Question;
  /** One sentence, for people; the table of `docs/trust.md`. */
  readonly meaning: string;
}

export type Verdict =
  | "MALFORMED"
  | "GZIP_DAMAGED"
  | "NOT_CANONICAL"
  | "MODIFIED"
  | "MISSING"
  | "REORDERED"
  | "DUPLICATE"
  | "FOREIGN"
  | "AFTER_CLOSE"
  | "ROOT_MISMATCH"
  | "TRUNCATED"
  | "ROLLED_BACK"
  | "ANCHOR_MISMATCH"
  | "HEAD_DAMAGED"
  | "CLAIM_MISMATCH"
  | "CONFLICT"
  | "FORKED"
  | "BAD_SIGNATURE"
  | "KEY_EPOCH_VIOLATION"
  | "PROOF_MISMATCH"
  | "OPENING_MISMATCH"
  | "MISSING_RECEIPT"
  | "LOST_LOG"
  | "EMPTY"
  | "UNREADABLE"
  | "NO_LINES"
  | "UNCLOSED"
  | "TORN_TAIL"
  | "HEAD_MISSING"
  | "BEYOND_HEAD"
  | "UNKNOWN_RECORD"
  | "MISSING_SEGMENT"
  | "GAP"
  | "UNFINISHED"
  | "PRUNED_UNSIGNED"
  | "UNREADABLE_SPANS"
  | "UNREADABLE_ANCHORS"
  | "TOO_MANY"
  | "UNSIGNED_HEAD"
  | "UNSIGNED_LINES"
  | "UNKNOWN_KEY"
  | "REVOKED_KEY"
  | "NO_TRUST"
  | "COPY"
  | "RECOVERED"
  | "TORN_HEAD"
  | "HEAD_BEHIND"
  | "OPEN"
  | "PRUNED"
  | "OTHER_ANCHORS"
  | "TORN_SPAN";

export const VERDICTS: Readonly<Record<Verdict, VerdictFacts>> = {
  MALFORMED: fact(
    1,
    "integrity",
    "A line is not UTF-8, not JSON, not what its record's schema allows, or longer than 64 KiB.",
  ),
  GZIP_DAMAGED: fact(1, "integrity", "A compressed log is no whole gzip file: cut, changed, or another kind of file."),
  NOT_CANONICAL: fact(1, "integrity", "With `strict`: a line is not the canonical form of what it holds."),
  MODIFIED: fact(1, "integrity", "A line is not the one that the next line names as its predecessor."),
  MISSING: fact(1, "integrity", "Line numbers jump: one or more lines were taken out before this one."),
  REORDERED: fact(
    1,
    "integrity",
    "A line stands behind lines that came after it, or was put in from elsewhere in the log.",
  ),
  DUPLICATE: fact(1, "integrity", "A line stands twice."),
  FOREIGN: fact(1, "integrity", "A line belongs to another log."),
  AFTER_CLOSE: fact(1, "integrity", "Something stands after the line that closed the log."),
  ROOT_MISMATCH: fact(
    1,
    "integrity",
    "The lines do not have the root that a head states: the last of them, or several and all links between them, were changed.",
  ),
  TRUNCATED: fact(1, "integrity", "A head, or a later log, vouches for more lines than there are."),
  ROLLED_BACK: fact(
    1,
    "integrity",
    "With `anchors`: a log and the heads beside it agree, on an older state than a head kept elsewhere vouches for.",
  ),
  ANCHOR_MISMATCH: fact(
    1,
    "integrity",
    "With `anchors`: the lines do not have the root that a head kept elsewhere states: they were written anew, or it is not theirs.",
  ),
  HEAD_DAMAGED: fact(
    1,
    "integrity",
    "A file of heads is not what a writer leaves: unreadable, out of order, or at odds with the other one and the lines.",
  ),
  CLAIM_MISMATCH: fact(1, "integrity", "The lines are not those that a later log found here."),
  CONFLICT: fact(1, "integrity", "Two copies of one record differ, or two files claim to be one log."),
  FORKED: fact(
    1,
    "authenticity",
    "Two heads kept elsewhere, or with `trust` any two that trusted keys have signed, cannot both be true of one log; or two statements name different keys to follow one.",
  ),
  BAD_SIGNATURE: fact(
    1,
    "authenticity",
    "With `trust`: a signature that names a trusted key is not that key's: the head was changed, or forged.",
  ),
  KEY_EPOCH_VIOLATION: fact(
    1,
    "authenticity",
    "With `trust`: a log is signed by a key that was not the one of its time, or by several.",
  ),
  PROOF_MISMATCH: fact(
    1,
    "integrity",
    "A proof does not lead from its line to the root of its head, or the line belongs elsewhere.",
  ),
  OPENING_MISMATCH: fact(1, "integrity", "An opening in a proof does not open the hash that stands in its line."),
  MISSING_RECEIPT: fact(1, "completeness", "A span names a durable receipt of this folder, and it is not there."),
  LOST_LOG: fact(1, "completeness", "There are heads of a log, beside it or kept elsewhere, and the log is not there."),
  EMPTY: fact(2, "integrity", "There is no receipt log here."),
  UNREADABLE: fact(2, "integrity", "A file could not be read, or is no regular file."),
  NO_LINES: fact(2, "integrity", "A log has no complete line."),
  UNCLOSED: fact(
    2,
    "integrity",
    "A log has no closing line: it is live, or its writer died and no later log vouches for it.",
  ),
  TORN_TAIL: fact(2, "integrity", "A log ends in the middle of a line, and no later log vouches for what is there."),
  HEAD_MISSING: fact(2, "integrity", "A file of heads is not there: nothing covers the last lines."),
  BEYOND_HEAD: fact(2, "integrity", "Lines stand beyond the last head: nothing covers the last of them."),
  UNKNOWN_RECORD: fact(2, "integrity", "A line holds a record, or a version of one, that this verifier does not know."),
  MISSING_SEGMENT: fact(2, "completeness", "A log names one before or after it that is not there."),
  GAP: fact(
    2,
    "completeness",
    "A log was silent for longer than its first line promises, and no heartbeat says why: lines may have been kept back.",
  ),
  UNFINISHED: fact(
    2,
    "completeness",
    "An intent has no receipt: the handler may have run, and nothing says how it ended.",
  ),
  PRUNED_UNSIGNED: fact(
    2,
    "completeness",
    "With `anchors` and without `trust`: a line says that a log was removed on purpose, and whoever removed it could have written that line.",
  ),
  UNREADABLE_SPANS: fact(2, "completeness", "Spans could not be read, so what they claim of receipts is unknown."),
  UNREADABLE_ANCHORS: fact(
    2,
    "completeness",
    "With `anchors`: something in them is no head, so what it may have vouched for is unknown.",
  ),
  TOO_MANY: fact(2, "completeness", "More copies, open intents or anchors than can be compared within bounded memory."),
  UNSIGNED_HEAD: fact(2, "authenticity", "With `trust`: a head bears no signature, so nothing says who wrote the log."),
  UNSIGNED_LINES: fact(2, "authenticity", "With `trust`: lines stand under no head that a trusted key has signed."),
  UNKNOWN_KEY: fact(2, "authenticity", "With `trust`: a head is signed, by none of the trusted keys."),
  REVOKED_KEY: fact(
    2,
    "authenticity",
    "With `trust`: a log holds lines from the time from which its key is revoked, or claims to.",
  ),
  NO_TRUST: fact(2, "authenticity", "A proof was checked without `trust`: nothing says who signed its head."),
  COPY: fact(
    0,
    "integrity",
    "A log stands here plain and compressed, with the same bytes, or the compressed one is no whole gzip file; the plain one counts.",
  ),
  RECOVERED: fact(0, "integrity", "A writer died; a later log vouches for every line that it left."),
  TORN_HEAD: fact(
    0,
    "integrity",
    "The last entry of a file of heads was not written to its end; the entries before it hold.",
  ),
  HEAD_BEHIND: fact(0, "integrity", "The latest head is an earlier entry of the file of all heads."),
  OPEN: fact(
    0,
    "integrity",
    "Accepted by `allowOpen`: no closing line, and no more lines beyond the last head than allowed.",
  ),
  PRUNED: fact(0, "completeness", "A log was removed on purpose, and a line says so."),
  OTHER_ANCHORS: fact(
    0,
    "completeness",
    "With `anchors` and `trust`: heads kept elsewhere are signed by keys that are not trusted, and their logs are not here.",
  ),
  TORN_SPAN: fact(0, "completeness", "The last line of a file of spans was not written to its end."),
};

function fact(exitCode: 0 | 1 | 2, question: Question, meaning: string): VerdictFacts {
  return { exitCode, question, meaning };
}
