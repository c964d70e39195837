/** The heads of one open log: cut over durable lines only, one after another. */

import type { Signer } from "../keys/signer.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { HeadWriter } from "./head-writer.ts";
import { MerkleTree } from "./merkle.ts";

export interface SegmentHeadsOptions {
  readonly folder: string;
  readonly log: string;
  readonly signer: Signer | null;
  /** How many of its lines are durable. */
  readonly durable: () => number;
  /** So many receipts more lie under a signed head. */
  readonly sealed: (receipts: number) => void;
}

export class SegmentHeads {
  readonly #options: SegmentHeadsOptions;
  readonly #writer: HeadWriter;
  readonly #tree = new MerkleTree();
  /** Leaf hashes that the tree does not have yet, in order. */
  #leaves: string[] = [];
  /** Places of receipts that no signed head covers; kept where there is a signer. */
  #receipts: number[] = [];
  #cutting: Promise<void> | undefined;

  constructor(options: SegmentHeadsOptions) {
    this.#options = options;
    this.#writer = new HeadWriter(options.folder, options.log, options.signer);
  }

  /** Lines beyond the last head. */
  get unsealed(): number {
    return this.#tree.size + this.#leaves.length - this.#writer.size;
  }

  get isCutting(): boolean {
    return this.#cutting !== undefined;
  }

  add(leaf: string): void {
    this.#leaves.push(leaf);
  }

  /** Says that line `seq` is a receipt. */
  addReceipt(seq: number): void {
    if (this.#options.signer !== null) this.#receipts.push(seq);
  }

  /** The head that can be put over the durable lines now. */
  claim(): Checkpoint {
    const ready = this.#options.durable() - this.#tree.size;
    if (ready > 0) for (const leaf of this.#leaves.splice(0, ready)) this.#tree.add(leaf);
    return { log: this.#options.log, size: this.#tree.size, root: this.#tree.root() };
  }

  /** Puts a head over the durable lines; rejects with what the file system says. */
  async cut(): Promise<void> {
    while (this.#cutting !== undefined) await this.#cutting;
    const head = this.claim();
    if (this.#writer.size >= head.size) return;
    this.#cutting = this.#writer.write(head);
    try {
      await this.#cutting;
      this.#nowSealed();
    } finally {
      this.#cutting = undefined;
    }
  }

  /** As `cut`, before it returns, where the signer answers at once; else nothing. */
  cutAtOnce(): void {
    const head = this.claim();
    if (this.#writer.size < head.size && this.#writer.writeAtOnce(head)) this.#nowSealed();
  }

  /** As `cut`, before it returns; unsigned where the signer cannot sign at once. */
  cutNow(): void {
    const head = this.claim();
    if (this.#writer.size < head.size) this.#writer.writeNow(head);
    this.#nowSealed();
  }

  close(): void {
    this.#writer.close();
  }

  #nowSealed(): void {
    const first = this.#receipts.findIndex((seq) => seq >= this.#writer.sealed);
    const receipts = first === -1 ? this.#receipts.length : first;
    if (receipts === 0) return;
    this.#receipts = this.#receipts.slice(receipts);
    this.#options.sealed(receipts);
  }
}
