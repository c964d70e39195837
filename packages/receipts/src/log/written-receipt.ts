/** A receipt that stands in a log, and moves to the next one when nobody can say what became of it there. */

import { canonicalJson } from "@toolspan/canonical";
import type { Chain } from "../records/envelope.ts";
import type { LoggedReceipt } from "../records/record.ts";
import type { OpenSegment } from "./local-logs.ts";
import { nowText } from "./writer-identity.ts";

export class WrittenReceipt {
  /** As it stands in the log; another one after `durable` has moved it. */
  line: string;
  readonly #next: () => OpenSegment;
  #segment: OpenSegment;
  #id: string;

  /** @param next The log that takes over when this one fails. */
  constructor(line: string, id: string, segment: OpenSegment, next: () => OpenSegment) {
    this.line = line;
    this.#id = id;
    this.#segment = segment;
    this.#next = next;
  }

  get uri(): string {
    return this.#segment.address + this.#id;
  }

  get log(): string {
    return this.#segment.writer.log;
  }

  /** Resolves once it is durable. When its log fails it is written once more, to a new log; rejects when that fails as well. */
  durable(): Promise<void> {
    return this.#segment.writer.durable(() => {
      this.move();
      return this.#segment.writer.durable();
    });
  }

  /** Writes it once more, to the log that takes over. */
  move(): void {
    const former = this.#segment;
    this.#segment = this.#next();
    this.line = movedLine(this.line, former.address, this.#segment.address, this.#segment.writer.next());
    this.#segment.writer.addReceipt(this.line);
  }
}

/** The same receipt in another place: place, time and address change, nothing else, so that readers know the two for copies. */
export function movedLine(line: string, former: string, address: string, chain: Chain): string {
  const receipt = JSON.parse(line) as LoggedReceipt;
  const { audit, dispatch_id } = receipt;
  const named = audit?.receipt_uri === former + dispatch_id;
  const moved = named ? { ...audit, receipt_uri: address + dispatch_id } : audit;
  return canonicalJson({ ...receipt, audit: moved, chain, emitted_at: nowText() });
}
