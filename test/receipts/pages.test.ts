// The pages on receipts say what the code says: verdicts, fields, and a check that needs nothing of ours.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { RECORD_SCHEMAS, VERDICTS } from "@toolspan/receipts";
import { expect, test } from "vitest";
import { closedLog } from "./parts.ts";

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");

test("docs/trust.md holds every verdict with its exit code, question and sentence, and no other", () => {
  const rows = page("trust.md")
    .split("\n")
    .filter((line) => /^\| `[A-Z_]+` \|/.test(line));
  expect(rows).toEqual(
    Object.entries(VERDICTS).map(
      ([verdict, { exitCode, question, meaning }]) => `| \`${verdict}\` | ${exitCode} | ${question} | ${meaning} |`,
    ),
  );
});

test("docs/receipts.md names every record and every field of each", () => {
  const text = page("receipts.md");
  for (const [record, schema] of Object.entries(RECORD_SCHEMAS)) {
    expect(text).toContain(`\`${record}\``);
    for (const field of Object.keys(schema.properties as object))
      expect(text, `${record}.${field}`).toMatch(new RegExp(`\\b${field}\\b`));
  }
});

test("the Python program in docs/trust.md accepts an honest log and refuses a changed one", async (context) => {
  const program = /```python\n([\s\S]+?)```/.exec(page("trust.md"))?.[1] ?? "";
  const { receipts } = await closedLog(5);
  const check = (edit: string): ReturnType<typeof spawnSync> =>
    spawnSync("python3", ["-c", program.replace(".split(b", `${edit}.split(b`)], { cwd: receipts, encoding: "utf8" });
  const honest = check("");
  if (honest.error !== undefined) {
    context.skip("python3 does not start");
    return;
  }
  expect(honest).toMatchObject({ status: 0, stderr: "" });
  for (const [from, to] of [
    ['"attempts":1', '"attempts":2'],
    ['"reason":"end"', '"reason":"enD"'],
  ]) {
    expect(check(`.replace(b'${from}', b'${to}')`).status).toBe(1);
  }
});
