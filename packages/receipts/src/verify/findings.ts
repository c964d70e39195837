/** What a verification found, and the answers that follow from it. */

import { type Question, VERDICTS, type Verdict } from "./verdicts.ts";

/** One thing that was found, where. */
export interface Finding {
  readonly verdict: Verdict;
  /** Name below the folder that was verified, or the path as it was given. */
  readonly file: string;
  /** 1-based; null where it concerns the whole file. */
  readonly line: number | null;
  /** One line for people: names, numbers and ids only. */
  readonly message: string;
}

export type Answer = "ok" | "bad" | "unknown";

const MAX_KEPT = 1000;

/** Collects findings; keeps the first of them and counts the rest. */
export class Findings {
  readonly #kept: { [exit in 0 | 1 | 2]: Finding[] } = { 0: [], 1: [], 2: [] };
  readonly #found = new Map<Verdict, number>();
  #leftOff = 0;

  add(verdict: Verdict, file: string, line: number | null, message: string): void {
    const kept = this.#kept[VERDICTS[verdict].exitCode];
    this.#found.set(verdict, (this.#found.get(verdict) ?? 0) + 1);
    if (kept.length < MAX_KEPT) kept.push({ verdict, file, line, message });
    else this.#leftOff++;
  }

  get exitCode(): 0 | 1 | 2 {
    if (this.#kept[1].length > 0) return 1;
    return this.#kept[2].length > 0 ? 2 : 0;
  }

  /** Contradictions first, then what cannot be said. */
  get problems(): readonly Finding[] {
    return [...this.#kept[1], ...this.#kept[2]];
  }

  get notes(): readonly Finding[] {
    return this.#kept[0];
  }

  get leftOff(): number {
    return this.#leftOff;
  }

  has(verdict: Verdict): boolean {
    return this.#found.has(verdict);
  }

  /** Bad when something contradicts, unknown when something cannot be said, ok otherwise. */
  answer(question: Question): Answer {
    let answer: Answer = "ok";
    for (const verdict of this.#found.keys()) {
      const facts = VERDICTS[verdict];
      if (facts.question !== question || facts.exitCode === 0) continue;
      if (facts.exitCode === 1) return "bad";
      answer = "unknown";
    }
    return answer;
  }
}
