/** The order of a log's lines: their numbers, the links between them, and which of two neighbours was changed. */

import type { MerkleTree } from "../../log/merkle.ts";
import type { Chain } from "../../records/envelope.ts";
import type { Checks } from "../checks.ts";
import type { Blames } from "./blames.ts";

/** Two neighbours of which one was changed: the line after them tells which. */
export interface Suspicion {
  readonly before: number;
  /** Leaf hash that the second names for the first. */
  readonly named: string;
  /** The tree without the first of them. */
  readonly tree: MerkleTree;
}

/** The lines before the one that is looked at. */
export interface Past {
  /** Leaf of the last one; null before the first. */
  readonly leaf: string | null;
  /** Tree over all but the last one. */
  readonly tree: MerkleTree;
}

export class ChainOrder {
  readonly #log: string | null;
  readonly #checks: Checks;
  readonly #blames: Blames;
  #expected = 0;
  /** The first number that a line skipped; a line that brings it after all shows that the other one was put in. */
  #skipped: number | null = null;
  #resumed: number | null = null;
  /** Lines since the last one that said where it stands. */
  #unplaced = 0;
  #suspicion: Suspicion | null = null;

  constructor(log: string | null, checks: Checks, blames: Blames) {
    this.#log = log;
    this.#checks = checks;
    this.#blames = blames;
  }

  /** Takes the next line by its own word, or one that has none. */
  place(chain: Chain | null, leaf: string, number: number, past: Past): void {
    if (chain === null) {
      this.#accuse();
      this.#unplaced++;
    } else if (this.#log !== null && chain.log !== this.#log) {
      this.#blames.add("FOREIGN", number, `it belongs to log ${chain.log}`);
      if (chain.seq === this.#expected) this.#expected++;
    } else this.#placeOwn(chain, leaf, number, past);
  }

  /** What is still undecided after the last line. */
  takeSuspicion(): Suspicion | null {
    const suspicion = this.#suspicion;
    this.#suspicion = null;
    return suspicion;
  }

  #placeOwn({ seq, prev }: Chain, leaf: string, number: number, past: Past): void {
    if (seq > this.#expected && seq <= this.#expected + this.#unplaced) this.#expected = seq;
    this.#unplaced = 0;
    if (seq !== this.#expected) {
      this.#misplaced(seq, leaf === past.leaf, number);
      return;
    }
    this.#expected++;
    this.#settle(this.#checks.link(prev, past.leaf), prev, number, past.tree);
  }

  #misplaced(seq: number, repeated: boolean, number: number): void {
    this.#accuse();
    const at = `it has number ${seq}, expected ${this.#expected}`;
    if (seq > this.#expected) {
      this.#blames.add("MISSING", number, `${at}: ${seq - this.#expected} before it are not there`);
      this.#skipped = this.#expected;
      this.#expected = seq + 1;
    } else if (seq === this.#resumed) {
      this.#expected = seq + 1;
      this.#resumed = null;
    } else {
      this.#blames.add(repeated ? "DUPLICATE" : "REORDERED", number, at);
      this.#resumed = seq === this.#skipped ? seq + 1 : null;
      this.#skipped = null;
    }
  }

  /** A broken link accuses two lines; whether the next link holds tells which of them was changed. */
  #settle(linked: boolean, prev: string | null, number: number, tree: MerkleTree): void {
    const suspicion = this.takeSuspicion();
    if (suspicion !== null) {
      const changed = linked ? suspicion.before : suspicion.before + 1;
      this.#blames.add("MODIFIED", changed, "the line after it names another one");
      return;
    }
    if (linked || this.#blames.last >= number - 1) return;
    if (prev === null || number === 1) this.#blames.add("MODIFIED", number, "it does not name the line before it");
    else this.#suspicion = { before: number - 1, named: prev, tree: tree.copy() };
  }

  /** No link decides any more: the first of the two it is. */
  #accuse(): void {
    const suspicion = this.takeSuspicion();
    if (suspicion !== null) this.#blames.add("MODIFIED", suspicion.before, "the line after it names another one");
  }
}
