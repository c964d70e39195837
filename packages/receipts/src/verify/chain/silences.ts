/** Silence that a log's writer promised to break: stretches without a line that no heartbeat explains. */

import type { Findings } from "../findings.ts";
import type { SeenRecord } from "../lines/examine-line.ts";

/** What is granted beyond the promised interval: a busy machine, clocks that are corrected, milliseconds. */
const SLACK_MS = 10_000;
/** Length of a time's text up to the tens of its seconds: times that agree so far lie less than 10 s apart. */
const PREFIX = 18;
const MAX_PENDING = 64;
/** Records that are stamped when they are written. Others bear the clock of their dispatch, which a clock that is set leaves behind. */
const OF_WRITER: ReadonlySet<string> = new Set(["segment_open", "segment_close", "heartbeat", "recovery"]);

interface Silence {
  readonly line: number;
  readonly from: string;
  readonly to: string;
}

/**
 * Looks at the times of neighbouring lines.
 *
 * A silence is told only when nothing honest explains it: neither of the two lines at its end is a heartbeat that says that the process was held up or that a clock was set, and a later line of the writer's own clock confirms that so much time has passed.
 */
export class Silences {
  readonly #findings: Findings;
  readonly #file: string;
  #promised: number | null = null;
  #latest = "";
  #prefix = "";
  #pending: Silence[] = [];

  constructor(findings: Findings, file: string) {
    this.#findings = findings;
    this.#file = file;
  }

  sees(record: SeenRecord, line: number): void {
    if (line === 1) this.#promised = promiseOf(record);
    if (this.#promised === null) return;
    if (this.#pending.length > 0) this.#settle(record, line);
    const { emitted_at } = record;
    if (emitted_at.startsWith(this.#prefix) && this.#prefix !== "") {
      if (emitted_at > this.#latest) this.#latest = emitted_at;
      return;
    }
    if (emitted_at < this.#latest) return;
    if (this.#latest !== "" && between(this.#latest, emitted_at) > this.#promised + SLACK_MS) {
      this.#suspect({ line, from: this.#latest, to: emitted_at }, record);
    }
    this.#latest = emitted_at;
    this.#prefix = emitted_at.slice(0, PREFIX);
  }

  #suspect(silence: Silence, record: SeenRecord): void {
    if (isExplained(record)) return;
    if (record.record === "segment_close") this.#tell(silence);
    else if (this.#pending.length < MAX_PENDING) this.#pending.push(silence);
  }

  #settle(record: SeenRecord, line: number): void {
    if (isExplained(record)) this.#pending = this.#pending.filter((silence) => silence.line !== line - 1);
    if (!OF_WRITER.has(record.record)) return;
    for (const silence of this.#pending) {
      if (between(record.emitted_at, silence.to) <= SLACK_MS) this.#tell(silence);
    }
    this.#pending = [];
  }

  #tell({ line, from, to }: Silence): void {
    const seconds = Math.round(between(from, to) / 1000);
    const promised = (this.#promised ?? 0) / 1000;
    const message = `no line for ${seconds} s before it, a heartbeat was promised every ${promised} s`;
    this.#findings.add("GAP", this.#file, line, message);
  }
}

function promiseOf(record: SeenRecord): number | null {
  return record.record === "segment_open" ? record.heartbeat_ms : null;
}

function isExplained(record: SeenRecord): boolean {
  return record.record === "heartbeat" && record.reason !== "idle";
}

function between(from: string, to: string): number {
  return Date.parse(to) - Date.parse(from);
}
