// What all files of the suite have run and checked, added up in one file.
import { appendFileSync, readFileSync } from "node:fs";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of the file. */
    readonly tally: string;
  }
}

export interface Tally {
  /** Writers that were run under a fault or after one. */
  readonly runs: number;
  readonly claims: number;
  readonly falseClaims: number;
  readonly lost: number;
  /** Handlers that began under `intent_first`. */
  readonly effects: number;
  readonly effectsUnseen: number;
}

const NOTHING: Tally = { runs: 0, claims: 0, falseClaims: 0, lost: 0, effects: 0, effectsUnseen: 0 };

export function count(counted: Partial<Tally>): void {
  appendFileSync(inject("tally"), `${JSON.stringify(counted)}\n`);
}

export function sumOf(path: string): Tally {
  const sum: Record<keyof Tally, number> = { ...NOTHING };
  for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean)) {
    for (const [name, value] of Object.entries(JSON.parse(line) as Tally)) sum[name as keyof Tally] += value;
  }
  return sum;
}
