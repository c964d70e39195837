/** What is thrown for a value or a text that has no canonical form. */

/** Why something was refused; `docs/canonical.md` says what each one means. */
export type RefusalReason =
  | "bad_utf8"
  | "byte_order_mark"
  | "class_instance"
  | "cycle"
  | "depth"
  | "duplicate_key"
  | "function"
  | "getter_threw"
  | "lone_surrogate"
  | "non_finite"
  | "number_underflow"
  | "proxy_threw"
  | "sparse_array"
  | "symbol"
  | "syntax"
  | "too_large"
  | "trailing_text"
  | "unsafe_integer";

/**
 * Says that there is no canonical form, why, and where.
 *
 * The message carries the reason only: neither keys nor values of what was refused. `path` is made of keys, so treat it as content.
 */
export class CanonicalRefusal extends Error {
  override readonly name: string = "CanonicalRefusal";
  readonly reason: RefusalReason;
  /** JSON Pointer (RFC 6901) to what was refused; "" is the whole. Entries of a Map or Set appear by their number in iteration order, a Map's key as `/0` and its value as `/1` under it. */
  readonly path: string;
  /** Texts only: where reading stopped, in UTF-16 code units from the start. */
  readonly offset?: number;

  constructor(reason: RefusalReason, path: string, offset?: number) {
    super(`expected a value with a canonical JSON form, received one that has none: ${reason}`);
    this.reason = reason;
    this.path = path;
    if (offset !== undefined) this.offset = offset;
  }
}
