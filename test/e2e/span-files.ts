// The files of spans that a program leaves in its state folder, as spans that a test can compare.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type OtlpTraces, type StoredSpan, spansOf } from "./jaeger-traces.ts";

/** Paths, oldest first. */
export function spanFiles(stateDir: string): readonly string[] {
  return readdirSync(join(stateDir, "spans"))
    .sort()
    .map((name) => join(stateDir, "spans", name));
}

/** The requests of a file, one a line. */
export function requestsIn(text: string): readonly OtlpTraces[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as OtlpTraces);
}

export function fileSpans(file: string): readonly StoredSpan[] {
  return spansOf({
    resourceSpans: requestsIn(readFileSync(file, "utf8")).flatMap(({ resourceSpans }) => resourceSpans ?? []),
  });
}
