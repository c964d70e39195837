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
  /** Literal texts without which the rule cannot match; `anyCase` compares them in lower case. */
  readonly keywords: readonly string[];
  readonly anyCase?: boolean;
  /**
   * Finds the secrets of this kind.
   *
   * @param hits Where keywords stand, ascending; worked out when asked for.
   * @param tick To be called between steps of bounded length; throws when the time is up.
   */
  find(text: string, hits: () => readonly number[], tick: () => void): readonly Span[];
}

/** A pattern in RE2 syntax, and where in a text it is worth trying. */
export interface SecretPattern {
  readonly id: string;
  /** RE2 syntax, `(?i)` for any case. */
  readonly pattern: string;
  /** What is masked: this group; else one named `secret` or `password`; else the whole match. */
  readonly group?: number;
  /** Literal texts of which each match holds one, in the case in which they stand. */
  readonly keywords: readonly string[];
  /** How far a match reaches before and behind the keyword, UTF-16 units. */
  readonly before?: number;
  readonly after?: number;
}
