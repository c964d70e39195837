/** The seam between walking a value and knowing its secrets: what a masker is asked, and what it answers. */

/** What stands in the place of a text or a value. */
export interface MaskedText {
  readonly text: string;
  /** Rule ids, one for each match. */
  readonly rules: readonly string[];
}

/** Knows what must be masked. */
export interface Masker {
  /** The text with its secrets masked; undefined where it has none. */
  text(text: string): MaskedText | undefined;
  /** What stands for a value under this name; undefined where it may stay. */
  under(name: string, value: unknown): MaskedText | undefined;
  /** What stands for a list's element behind a header's name, or behind the name of a pair; undefined where it may stay. */
  behind(name: string, value: unknown, isPair: boolean): MaskedText | undefined;
  /** Called once for each object and text; throws when there is too much of it. */
  tick(): void;
}
