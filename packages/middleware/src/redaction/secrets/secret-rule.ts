/** What a rule for secrets is, and what it finds in a text. */

/** A stretch of a text that must not be shown: from `start` up to, not including, `end`, UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One kind of secret. */
export interface SecretRule {
  /** Stable name, snake_case: it stands in the mask and in the counts. */
  readonly id: string;
  /** Literal texts, of which each match holds one: ASCII, at least two characters; with `anyCase` in lower case. */
  readonly keywords: readonly string[];
  /** True where the keywords may stand in any case. */
  readonly anyCase?: boolean;
  /**
   * Finds the secrets of this kind.
   *
   * @param at Where keywords stand, ascending.
   * @param tick To be called between steps of bounded length; throws when the time is up.
   */
  find(text: string, at: readonly number[], tick: () => void): readonly Span[];
}

/** A pattern in RE2 syntax, and where in a text it is worth trying. */
export interface SecretPattern {
  readonly id: string;
  /** RE2 syntax, `(?i)` for any case. */
  readonly pattern: string;
  /** What is masked: this group; else one named `secret` or `password`; else the whole match. */
  readonly group?: number;
  /** Literal texts, of which each match holds one: ASCII, at least two characters. */
  readonly keywords: readonly string[];
  /** A further text that each match holds. */
  readonly also?: string;
  /** How far a match reaches before and behind the keyword, UTF-16 units. */
  readonly before?: number;
  readonly after?: number;
}
