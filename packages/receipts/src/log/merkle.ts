/** RFC 6962 hashes and trees over a log's lines: roots as lines come, and the checks of proofs against a root. */

import { createHash, hash as oneShot } from "node:crypto";

/** Root of no lines at all, lower-case hex. */
export const EMPTY_ROOT: string = createHash("sha256").digest("hex");

/** Leaf hash of a line: SHA-256 over 0x00 and the bytes before the newline; lower-case hex. */
export function leafHash(line: Uint8Array): string {
  return createHash("sha256").update(LEAF).update(line).digest("hex");
}

const LEAF = Buffer.of(0);

/** SHA-256 of `bytes`, lower-case hex. */
export function sha256Hex(bytes: Uint8Array): string {
  return oneShot("sha256", bytes, "hex");
}

const HEX_LENGTH = 64;
const nodeInput = Buffer.alloc(65, 1);

/**
 * Hash of an inner node over its two children.
 *
 * @param left Lower-case hex, or one character a byte as this returns; so is `right`.
 * @returns 32 characters, one a byte: most inner nodes are only hashed again, and hex costs twice as much to and fro.
 */
function nodeHash(left: string, right: string): string {
  putHash(left, 1);
  putHash(right, 33);
  return oneShot("sha256", nodeInput, "binary");
}

function putHash(hash: string, offset: number): void {
  nodeInput.write(hash, offset, hash.length === HEX_LENGTH ? "hex" : "binary");
}

function toHex(hash: string): string {
  return hash.length === HEX_LENGTH ? hash : Buffer.from(hash, "binary").toString("hex");
}

/** The tree over the leaves so far, kept as the roots of its full subtrees: one hash a leaf, log2(n) hashes of memory. */
export class MerkleTree {
  #size = 0;
  /** Roots of full subtrees, largest first; one for each set bit of the size. */
  #peaks: string[] = [];

  get size(): number {
    return this.#size;
  }

  /** Adds a leaf hash, lower-case hex. */
  add(leaf: string): void {
    let node = leaf;
    for (let rest = this.#size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
      node = nodeHash(this.#peaks.pop() as string, node);
    }
    this.#peaks.push(node);
    this.#size++;
  }

  /** Root over all leaves so far, lower-case hex. */
  root(): string {
    let node = this.#peaks.at(-1);
    if (node === undefined) return EMPTY_ROOT;
    for (let i = this.#peaks.length - 2; i >= 0; i--) node = nodeHash(this.#peaks[i] as string, node);
    return toHex(node);
  }

  /** The same tree, to go on with apart. */
  copy(): MerkleTree {
    const tree = new MerkleTree();
    tree.#size = this.#size;
    tree.#peaks = [...this.#peaks];
    return tree;
  }
}

/**
 * The hashes that lead from leaf `index` to the root of the first `size` leaves, lowest first; at most log2(size) of them.
 *
 * @param leafAt Leaf hash of a place, lower-case hex.
 * @source RFC 6962, section 2.1.1
 */
export function inclusionProof(index: number, size: number, leafAt: (place: number) => string): readonly string[] {
  const proof: string[] = [];
  let start = 0;
  let end = size;
  while (end - start > 1) {
    const split = start + 2 ** (Math.ceil(Math.log2(end - start)) - 1);
    const inLeft = index < split;
    const [from, to] = inLeft ? [split, end] : [start, split];
    const other = new MerkleTree();
    for (let place = from; place < to; place++) other.add(leafAt(place));
    proof.unshift(other.root());
    if (inLeft) end = split;
    else start = split;
  }
  return proof;
}

/** True when `proof` leads from leaf `index` of `size` to `root`. Hashes are lower-case hex; sizes are integers. */
export function isIncluded(index: number, size: number, leaf: string, proof: readonly string[], root: string): boolean {
  if (!(index >= 0 && index < size) || ![leaf, root, ...proof].every(isHash)) return false;
  let at = index;
  let last = size - 1;
  let node = leaf;
  for (const sibling of proof) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      node = nodeHash(sibling, node);
      while (at % 2 === 0 && at !== 0) {
        at = Math.floor(at / 2);
        last = Math.floor(last / 2);
      }
    } else {
      node = nodeHash(node, sibling);
    }
    at = Math.floor(at / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && toHex(node) === root;
}

/**
 * True when `proof` shows that the tree of `size1` leaves is the beginning of the tree of `size2`.
 *
 * @source RFC 9162, section 2.1.4.2
 */
export function isConsistent(
  size1: number,
  size2: number,
  root1: string,
  root2: string,
  proof: readonly string[],
): boolean {
  if (size1 > size2 || size1 < 1) return false;
  if (size1 === size2) return proof.length === 0 && root1 === root2;
  if (![root1, root2, ...proof].every(isHash)) return false;
  const path = isPowerOfTwo(size1) ? [root1, ...proof] : [...proof];
  if (proof.length === 0 || path[0] === undefined) return false;
  let at = size1 - 1;
  let last = size2 - 1;
  while (at % 2 === 1) {
    at = Math.floor(at / 2);
    last = Math.floor(last / 2);
  }
  let node1 = path[0];
  let node2 = path[0];
  for (const sibling of path.slice(1)) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      node1 = nodeHash(sibling, node1);
      node2 = nodeHash(sibling, node2);
      while (at % 2 === 0 && at !== 0) {
        at = Math.floor(at / 2);
        last = Math.floor(last / 2);
      }
    } else {
      node2 = nodeHash(node2, sibling);
    }
    at = Math.floor(at / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && toHex(node1) === root1 && toHex(node2) === root2;
}

function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

function isPowerOfTwo(size: number): boolean {
  return 2 ** Math.round(Math.log2(size)) === size;
}
