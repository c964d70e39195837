// Properties over many logs: nothing honest raises an alarm, and no other bytes are ever passed.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AuditLogOptions, verifyLog } from "@toolspan/receipts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { headsOf } from "./mutations.ts";
import { closedLog, logsIn, type Recorded, recording, temporaryFolder } from "./parts.ts";

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("call" as const), session: fc.constantFrom("a", "b", "c.d", "") }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("burst" as const), session: fc.constantFrom("a", "b") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("flush" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("close" as const) }) },
);
const writer = fc.record({
  policy: fc.constantFrom("required" as const, "best_effort" as const, "intent_first" as const),
  log: fc.constantFrom("session" as const, "process" as const),
  layers: fc.constantFrom("compact" as const, "full" as const),
});

test("honest writers, several at a time in one folder, whatever they do and in which order, raise no alarm", {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(writer, { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(fc.nat(), step), { maxLength: 14 }),
      async (writers: readonly AuditLogOptions[], steps) => {
        const stateDir = temporaryFolder();
        const open = writers.map((options) => recording({ ...options, stateDir }));
        let receipts = 0;
        for (const [which, what] of steps) {
          const recorded = open[which % open.length] as Recorded;
          if (what.kind === "flush") await recorded.dispatch.flush();
          else if (what.kind === "close") await recorded.close();
          else {
            const calls = what.kind === "burst" ? 12 : 1;
            await Promise.all(Array.from({ length: calls }, () => recorded.call("add", what.session)));
            receipts += calls;
          }
        }
        for (const recorded of open) await recorded.close();
        const report = await verifyLog(stateDir, { strict: true });
        expect(report.findings.filter(({ verdict }) => verdict !== "EMPTY")).toEqual([]);
        expect(report.counts.receipts).toBe(receipts);
      },
    ),
    { numRuns: 25 },
  );
});

test("no other bytes pass: any stretch of any file replaced, cut or put in", { timeout: 120_000 }, async () => {
  const recorded = recording();
  for (let i = 0; i < 3; i++) {
    await recorded.call();
    await recorded.dispatch.flush();
  }
  await recorded.close();
  const files = [...logsIn(recorded.receipts), ...headsOf(recorded.receipts)];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...files),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 0, max: 60 }),
      fc.oneof(
        fc.uint8Array({ maxLength: 60 }),
        fc.string({ maxLength: 20 }).map((text) => Buffer.from(text)),
        fc.constant(Buffer.from("\n")),
      ),
      async (file, place, removed, added) => {
        const path = join(recorded.receipts, file);
        const honest = readFileSync(path);
        const at = Math.floor(place * honest.length);
        const changed = Buffer.concat([honest.subarray(0, at), added, honest.subarray(at + removed)]);
        if (changed.equals(honest)) return;
        writeFileSync(path, changed);
        const { exitCode } = await verifyLog(recorded.root);
        writeFileSync(path, honest);
        expect(exitCode).not.toBe(0);
      },
    ),
    {
      numRuns: 1500,
      examples: [
        [headsOf(recorded.receipts).find((name) => name.endsWith(".heads")) as string, 1, 0, Buffer.from(",")],
      ],
    },
  );
  expect((await verifyLog(recorded.root)).exitCode).toBe(0);
});

test("a head of one log does not pass for that of another", async () => {
  const [one, two] = [await closedLog(2), await closedLog(2)];
  const head = (receipts: string): string => headsOf(receipts).find((name) => name.endsWith(".head")) as string;
  writeFileSync(join(one.receipts, head(one.receipts)), readFileSync(join(two.receipts, head(two.receipts))));
  expect(await verifyLog(one.root)).toMatchObject({ exitCode: 1, findings: [{ verdict: "HEAD_DAMAGED" }] });
});
