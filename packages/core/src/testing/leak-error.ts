/** What the leak kit throws: where which kind of secret stands, without the secret. */

export interface LeakFound {
  readonly kind: string;
  readonly place: string;
  /** Property names and positions, joined by dots; `(key)` for a name itself. */
  readonly path: string;
  /** `plain`, or the encodings that hide it, outermost first. */
  readonly form: string;
  /** False where only a part of the secret stands there. */
  readonly isWhole: boolean;
  /** Of the secret, UTF-16 units. */
  readonly length: number;
}

export class LeakError extends Error {
  readonly leaks: readonly LeakFound[];

  constructor(leaks: readonly LeakFound[]) {
    super(`${leaks.length} leaks of planted secrets:\n${leaks.map(toLine).join("\n")}`);
    this.name = "LeakError";
    this.leaks = leaks;
  }
}

function toLine({ kind, place, path, form, isWhole, length }: LeakFound): string {
  const what = isWhole ? `${kind} (${length} characters)` : `part of ${kind} (${length} characters)`;
  return `  ${place}${path === "" ? "" : ` at ${path}`}: ${what}${form === "plain" ? "" : `, as ${form}`}`;
}
