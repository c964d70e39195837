// One hash for one document in three languages: ours, Python's rfc8785, and the Go code of the author of RFC 8785.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { plainHasher } from "@toolspan/canonical/hash";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { randomDocuments } from "../canonical/random-documents.ts";
import { buildGo, type GoProgram } from "./go.ts";
import { runPython, whyNoPython } from "./python.ts";

const COUNT = 100_000;
/** Another one each time; to see a failure again, set what it names. */
const seed = Number(process.env.TOOLSPAN_TEST_SEED ?? Date.now() % 2 ** 31);

const built = buildGo("canonicalizer");
const whyNoGo = typeof built === "string" ? built : undefined;
afterAll(() => {
  if (whyNoGo === undefined) rmSync((built as GoProgram).folder, { recursive: true });
});

let documents: readonly string[];
let input: string;
let ours: readonly string[];
beforeAll(() => {
  const hasher = plainHasher();
  documents = randomDocuments(COUNT, seed);
  input = documents.map((text) => `${text}\n`).join("");
  ours = documents.map((text) => hasher.value(JSON.parse(text)).hash as string);
}, 120_000);

/** The first document of which another program says something else. */
function firstDifference(output: string): object | null {
  const theirs = output.split("\n").slice(0, -1);
  if (theirs.length !== COUNT) return { documents: COUNT, answers: theirs.length };
  const at = theirs.findIndex((hash, i) => hash !== ours[i]);
  return at === -1 ? null : { document: documents[at], ours: ours[at], theirs: theirs[at] };
}

describe(`${COUNT.toLocaleString("en")} random documents (seed ${seed}) have the same hashes`, () => {
  test("and differ: next to no hash comes up twice but those of the smallest", () => {
    expect(ours.every((hash) => hash.startsWith("sha256:"))).toBe(true);
    expect(new Set(ours).size).toBeGreaterThan(COUNT * 0.5);
  });

  test.skipIf(whyNoPython !== undefined)(
    `in Python${whyNoPython === undefined ? "" : ` (skipped: ${whyNoPython})`}`,
    { timeout: 120_000 },
    () => {
      const { stdout, stderr, status } = runPython("hash_documents.py", [], input);
      expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
      expect(firstDifference(stdout)).toBeNull();
    },
  );

  test.skipIf(whyNoGo !== undefined)(
    `in Go${whyNoGo === undefined ? "" : ` (skipped: ${whyNoGo})`}`,
    { timeout: 120_000 },
    () => {
      const { binary } = built as GoProgram;
      const { stdout, stderr, status } = spawnSync(binary, { input, encoding: "utf8", maxBuffer: 2 ** 28 });
      expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
      expect(firstDifference(stdout)).toBeNull();
    },
  );
});
