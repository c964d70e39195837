/** What an endpoint has acknowledged of a log, by its cursor and its dead-letter file. */

import { existsSync } from "node:fs";
import { deadLetterFile, deadLettersIn } from "./dead-letters.ts";
import { deliveryFolder } from "./delivery-folder.ts";
import { headsAfter, isHeadPositionOf } from "./head-feed.ts";
import { readPosition } from "./position.ts";

/** What there is of a log. */
export interface WholeLog {
  readonly log: string;
  readonly bytes: number;
  readonly lines: number;
  /** Leaf hash of the last line. */
  readonly leaf: string | null;
  /** Its file of heads. */
  readonly heads: string;
}

export class Acknowledged {
  readonly #folder: string;
  readonly #parked: ReadonlySet<string>;

  private constructor(folder: string, parked: ReadonlySet<string>) {
    this.#folder = folder;
    this.#parked = parked;
  }

  /** Of the endpoint with this id, whether anything was ever delivered to it or not. */
  static async by(root: string, id: string): Promise<Acknowledged> {
    const folder = deliveryFolder(root, id);
    const parked = new Set<string>();
    for await (const { log } of deadLettersIn(deadLetterFile(folder))) parked.add(log);
    return new Acknowledged(folder, parked);
  }

  /** True when every line and every head of the log was accepted; null where some were refused and lie in the dead-letter file. */
  has({ log, bytes, lines, leaf, heads }: WholeLog): boolean | null {
    if (!existsSync(this.#folder)) return false;
    const position = readPosition(this.#folder, log);
    if (position === null || position.offset !== bytes || position.lines !== lines || position.leaf !== leaf)
      return false;
    if (!isHeadPositionOf(heads, position.heads) || headsAfter(heads, log, position.heads).length > 0) return false;
    return this.#parked.has(log) ? null : true;
  }
}
