/** Lines of one log that are at fault, told as they are found. */

import type { Findings } from "../findings.ts";
import type { Verdict } from "../verdicts.ts";

export class Blames {
  readonly #findings: Findings;
  readonly #file: string;
  #first: number | null = null;
  #last = 0;

  constructor(findings: Findings, file: string) {
    this.#findings = findings;
    this.#file = file;
  }

  /** The first line at fault; what vouches for lines from there on is explained by it. */
  get first(): number | null {
    return this.#first;
  }

  /** The last line at fault; its neighbour's broken link is explained by it. */
  get last(): number {
    return this.#last;
  }

  add(verdict: Verdict, line: number, message: string): void {
    this.#first = Math.min(this.#first ?? line, line);
    this.#last = Math.max(this.#last, line);
    this.#findings.add(verdict, this.#file, line, message);
  }
}
