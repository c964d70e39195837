/** Finds any of many secrets in a text in one pass: by the stretches of 16 characters that they are made of. */

import type { Canary } from "./assert-no-leak.ts";

export interface Fragment {
  readonly canary: Canary;
  readonly isWhole: boolean;
}

const FRAGMENT = 16;
const SHORTEST = 8;

export class FragmentIndex {
  /** Length of a stretch → stretch → whose it is. Secrets under 16 characters have one stretch, themselves. */
  readonly #lengths = new Map<number, Map<string, Canary>>();

  /** @throws TypeError for no canary, and for one that is too short to be told from other text. */
  constructor(canaries: readonly Canary[]) {
    if (canaries.length === 0) throw new TypeError("assertNoLeak: expected canaries, received none");
    for (const canary of canaries) {
      const { kind, secret } = canary;
      if (typeof secret !== "string" || secret.length < SHORTEST) {
        throw new TypeError(`assertNoLeak: ${kind} needs at least ${SHORTEST} characters to be told from other text`);
      }
      const length = Math.min(FRAGMENT, secret.length);
      const fragments = this.#lengths.get(length) ?? new Map<string, Canary>();
      for (let i = 0; i + length <= secret.length; i += 1) fragments.set(secret.slice(i, i + length), canary);
      this.#lengths.set(length, fragments);
    }
  }

  /** The first secret of which a stretch stands in `text`. */
  find(text: string): Fragment | undefined {
    for (const [length, fragments] of this.#lengths) {
      for (let i = 0; i + length <= text.length; i += 1) {
        const canary = fragments.get(text.slice(i, i + length));
        if (canary !== undefined) return { canary, isWhole: text.includes(canary.secret) };
      }
    }
    return undefined;
  }
}
