/** Finds any of many secrets in a text in one pass: by the stretches of 16 characters that they are made of. */

import type { Canary } from "./assert-no-leak.ts";

export interface Fragment {
  readonly canary: Canary;
  readonly isWhole: boolean;
}

const LONGEST_FRAGMENT = 16;
const SHORTEST_SECRET = 8;

/** Stretches of one length: a rolling hash (Rabin and Karp, 1987) says where looking closer is worth it. */
interface Stretches {
  readonly length: number;
  /** BASE to the power of `length`: what the oldest character counts. */
  readonly power: number;
  readonly mayBe: Uint8Array;
  readonly owners: Map<string, Canary>;
}

const BASE = 257;
const MASK = 0xfffff;

export class FragmentIndex {
  /** By length; secrets under 16 characters have one stretch, themselves. */
  readonly #lengths = new Map<number, Stretches>();

  /** @throws TypeError for no canary, and for one that is too short to be told from other text. */
  constructor(canaries: readonly Canary[]) {
    if (canaries.length === 0) throw new TypeError("assertNoLeak: expected canaries, received none");
    for (const canary of canaries) {
      const { kind, secret } = canary;
      if (typeof secret !== "string" || secret.length < SHORTEST_SECRET) {
        throw new TypeError(
          `assertNoLeak: ${kind} needs at least ${SHORTEST_SECRET} characters to be told from other text`,
        );
      }
      this.#add(canary, Math.min(LONGEST_FRAGMENT, secret.length));
    }
  }

  /** Length of the shortest stretch. */
  get shortest(): number {
    return Math.min(...this.#lengths.keys());
  }

  /** The first secret of which a stretch stands in `text`. */
  find(text: string): Fragment | undefined {
    for (const stretches of this.#lengths.values()) {
      const canary = findIn(text, stretches);
      if (canary !== undefined) return { canary, isWhole: text.includes(canary.secret) };
    }
    return undefined;
  }

  #add(canary: Canary, length: number): void {
    let stretches = this.#lengths.get(length);
    if (stretches === undefined) {
      let power = 1;
      for (let i = 0; i < length; i += 1) power = Math.imul(power, BASE);
      stretches = { length, power, mayBe: new Uint8Array(MASK + 1), owners: new Map() };
      this.#lengths.set(length, stretches);
    }
    for (let i = 0; i + length <= canary.secret.length; i += 1) {
      const stretch = canary.secret.slice(i, i + length);
      let hash = 0;
      for (let at = 0; at < length; at += 1) hash = (Math.imul(hash, BASE) + stretch.charCodeAt(at)) | 0;
      stretches.mayBe[hash & MASK] = 1;
      stretches.owners.set(stretch, canary);
    }
  }
}

function findIn(text: string, { length, power, mayBe, owners }: Stretches): Canary | undefined {
  let hash = 0;
  for (let i = 0; i < text.length; i += 1) {
    hash = (Math.imul(hash, BASE) + text.charCodeAt(i)) | 0;
    if (i >= length) hash = (hash - Math.imul(power, text.charCodeAt(i - length))) | 0;
    if (i < length - 1 || mayBe[hash & MASK] === 0) continue;
    const canary = owners.get(text.slice(i - length + 1, i + 1));
    if (canary !== undefined) return canary;
  }
  return undefined;
}
