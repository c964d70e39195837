/** Who has signed the heads of one log, and whether that key was the one of the log's time. */

import type { LogRecord } from "../../records/record.ts";
import type { Checks } from "../checks.ts";
import type { Findings } from "../findings.ts";
import type { Head } from "../heads/head-reader.ts";
import type { SeenRecord } from "../lines/examine-line.ts";
import { type Signing, signingOf } from "./signing.ts";
import type { Trust, TrustedKey } from "./trust.ts";

/** Where a head stands, and how many lines it is over. */
interface Place {
  readonly file: string;
  readonly line: number;
  readonly size: number;
}

const MAX_KEPT = 64;
/** How far the clocks of a rotation and of a writer may lie apart, milliseconds. */
const CLOCK_TOLERANCE_MS = 60_000;

export class Authors {
  /** Lines under a right head that a trusted key has signed. */
  covered = 0;
  readonly #trust: Trust;
  readonly #checks: Checks;
  readonly #bad: Place[] = [];
  readonly #unknown: Place[] = [];
  readonly #unsigned: Place[] = [];
  /** Trusted keys that have signed, each with the place where it first did. */
  readonly #keys = new Map<TrustedKey, Place>();
  #opening: { readonly verifierKey: string | null; readonly at: string } | null = null;
  /** Time of the latest line. */
  #latest = "";
  #receipts = 0;
  #receiptsCovered = 0;

  constructor(trust: Trust, checks: Checks) {
    this.#trust = trust;
    this.#checks = checks;
  }

  /** Takes a head; true when the trusted key that it names as its own has signed it, and no trusted key's signature is bad. */
  take(file: string, { line, head, body, signatures }: Head): boolean {
    const text = Buffer.from(body, "latin1").toString("utf8");
    const signing = signingOf({ keyName: head.keyName, text, signatures }, this.#trust, this.#checks);
    return this.note({ file, line, size: head.size }, signing);
  }

  /** As `take`, of a head whose signatures were looked at before. */
  note(place: Place, signing: Signing): boolean {
    if (signing.by === "bad") keep(this.#bad, place);
    else if (signing.by !== "trusted") keep(signing.by === "nobody" ? this.#unsigned : this.#unknown, place);
    else if (!this.#keys.has(signing.key)) this.#keys.set(signing.key, place);
    return signing.by === "trusted";
  }

  /** A signed head over the first `size` lines states their root. */
  covers(size: number): void {
    this.covered = Math.max(this.covered, size);
    this.#receiptsCovered = this.#receipts;
  }

  sees(record: SeenRecord, line: number): void {
    if (line === 1 && record.record === "segment_open") {
      this.#opening = { verifierKey: record.verifier_key, at: record.emitted_at };
    }
    if (record.emitted_at > this.#latest) this.#latest = record.emitted_at;
    if (record.record === "receipt") this.#receipts++;
  }

  /** Takes a line whose log's first line is not at hand: only its time can be held against the key. */
  seesAlone({ emitted_at }: LogRecord): void {
    this.#latest = emitted_at;
  }

  /** Receipts among the covered lines. */
  sealedReceipts(): number {
    return this.#receiptsCovered;
  }

  /** Says what is wrong; true when something is. */
  judge(log: string, findings: Findings): boolean {
    for (const { file, line } of this.#bad) {
      findings.add("BAD_SIGNATURE", file, line, "a signature that names a trusted key is not that key's");
    }
    const [unknown] = this.#unknown;
    if (unknown !== undefined) findings.add("UNKNOWN_KEY", unknown.file, unknown.line, "no trusted key has signed it");
    const unsigned = this.#unsigned.find(({ size }) => size > this.covered);
    if (unsigned !== undefined) findings.add("UNSIGNED_HEAD", unsigned.file, null, "it bears no signature");
    const judged = [...this.#keys].map(([key, place]) => this.#judgeKey(key, place, log, findings));
    return this.#bad.length > 0 || unknown !== undefined || unsigned !== undefined || judged.includes(true);
  }

  /** A newer key must not vouch for what was written before its time, nor an older one for what was begun after it. */
  #judgeKey(key: TrustedKey, { file, line }: Place, log: string, findings: Findings): boolean {
    const { verifier, revokedFrom } = key;
    const offence = this.#offenceOf(key);
    if (offence !== null) findings.add("KEY_EPOCH_VIOLATION", file, line, offence);
    const revoked = revokedFrom !== null && this.#latest >= revokedFrom;
    if (revoked) findings.add("REVOKED_KEY", log, null, `key ${verifier.name}+${verifier.id} is revoked for its lines`);
    return offence !== null || revoked;
  }

  #offenceOf({ verifier, from, until }: TrustedKey): string | null {
    const [first] = this.#keys.keys();
    if (first !== undefined && first.verifier !== verifier) return "another key has signed heads of this log before";
    if (from !== null && this.#latest !== "" && isBefore(this.#latest, from)) {
      return `its latest line is of ${this.#latest}, its key follows another one since ${from}`;
    }
    if (this.#opening === null) return null;
    const { verifierKey, at } = this.#opening;
    if (verifierKey !== verifier.text) return "the log was not opened under the key that signed it";
    if (from !== null && isBefore(at, from))
      return `the log was opened ${at}, its key follows another one since ${from}`;
    if (until !== null && isBefore(until, at)) return `the log was opened ${at}, its key had ended ${until}`;
    return null;
  }
}

function isBefore(one: string, other: string): boolean {
  return Date.parse(one) + CLOCK_TOLERANCE_MS < Date.parse(other);
}

function keep(list: Place[], place: Place): void {
  if (list.length < MAX_KEPT) list.push(place);
}
