// A hundred thousand receipts through outages and killed senders: nothing is lost, and duplicates can be told.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { outageStory } from "../suite/delivery-story.ts";
import { build } from "../support/workspace.ts";
import { scaled } from "./scale.ts";

const COUNT = scaled(30_000, 100_000);

beforeAll(build);

test(`${COUNT} receipts arrive byte for byte through an endpoint that is away and senders that are killed`, {
  timeout: 60_000 + COUNT * 10,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "toolspan-delivery-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { written, arrived, heads, kills } = await outageStory(folder, COUNT);
  const once = new Set(arrived);
  const lost = written.filter((line) => !once.has(line)).length;
  process.stdout.write(
    `delivery: ${written.length} lines, ${lost} lost, ${arrived.length - once.size} duplicates, ${kills} senders killed\n`,
  );
  expect(lost).toBe(0);
  expect(once.size).toBe(written.length);
  expect(heads.arrived).toBe(heads.written);
});
