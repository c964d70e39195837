/** What states a root for a log's first lines, and what can be wrong with it. */

/** Something that states a root for the first `size` lines. */
export interface Voucher {
  readonly source: "heads" | "head" | "claim" | "anchor";
  readonly file: string;
  readonly line: number;
  readonly size: number;
  readonly root: string;
  /** True for a head that a trusted key has signed. */
  readonly signed: boolean;
}

/** Two heads of one log, both signed by trusted keys, that cannot both be true. */
export interface Fork {
  readonly file: string;
  readonly line: number;
  readonly size: number;
}

/** A place in a file of heads that no writer leaves. */
export interface HeadDamage {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** True for two heads of one size, both signed, with different roots. */
export function isFork(one: Voucher | null, other: Voucher): boolean {
  return one?.signed === true && other.signed && one.size === other.size && one.root !== other.root;
}
