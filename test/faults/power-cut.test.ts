// A receipt that was said to be durable is there after a power cut.
import { afterAll, beforeAll, expect, test } from "vitest";
import { asRoot, canCutPower, skipUnless } from "./capabilities.ts";
import { type CutVariant, cutPowerUnder } from "./power-cuts.ts";
import { scaled, timeFor } from "./scale.ts";
import { type WriterProgram, writerProgram } from "./writer-program.ts";

const VARIANTS: readonly CutVariant[] = [
  { policy: "required", log: "session", sessions: 1, signed: false },
  { policy: "intent_first", log: "session", sessions: 2, signed: true },
  { policy: "best_effort", log: "process", sessions: 2, signed: false },
];
const CUTS = scaled(5, 70);

let program: WriterProgram;
beforeAll(async () => {
  program = await writerProgram();
});
afterAll(() => program.remove());

test.for(VARIANTS)(
  `every receipt claimed under $policy survives ${CUTS} power cuts, and none of them is called damage`,
  {
    timeout: timeFor(CUTS),
  },
  async (variant, context) => {
    skipUnless(context, asRoot, canCutPower);
    let claims = 0;
    for await (const { report, ...found } of cutPowerUnder(program.path, variant, CUTS)) {
      expect(found).toMatchObject({ falseClaims: [], effectsUnseen: [] });
      expect(report.exitCode, JSON.stringify(report.findings)).not.toBe(1);
      if ("lost" in found) expect(found.lost).toEqual([]);
      claims += found.claims;
    }
    expect(claims).toBeGreaterThan(CUTS);
  },
);
