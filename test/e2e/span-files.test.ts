// A program's files of spans through the Collector's own decoder: what it reads is what was written.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { peerBinary } from "../peers/build.mjs";
import { toolspan } from "../suite/command.ts";
import { CONVERSATIONS } from "./agent-program.ts";
import { requestsIn, spanFiles } from "./span-files.ts";

const state = mkdtempSync(join(tmpdir(), "toolspan-spans-"));
let file = "";
beforeAll(async () => {
  // With content, so that every type of attribute and every kind of character is there.
  const env = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" };
  const ran = await toolspan(["demo", "--out", state, "--runs", CONVERSATIONS], { env });
  expect(ran, ran.stderr).toMatchObject({ code: 0 });
  const [only = "", ...others] = spanFiles(state);
  expect(others).toEqual([]);
  file = only;
});
afterAll(() => rmSync(state, { recursive: true }));

const decode = (path: string): { readonly status: number | null; readonly stdout: string; readonly stderr: string } =>
  spawnSync(peerBinary("checks"), ["spans", path], { encoding: "utf8", maxBuffer: 1 << 30 });

describe("the Collector's decoder", () => {
  test("reads every line, and writes the same ids, parents, times, statuses, events and attributes with their types", () => {
    const { status, stdout, stderr } = decode(file);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const [ours, theirs] = [readFileSync(file, "utf8"), stdout].map(requestsIn);
    expect(ours?.length).toBeGreaterThan(10);
    expect(theirs?.length).toBe(ours?.length);
    for (const [at, request] of (ours ?? []).entries()) expect(plain(theirs?.[at])).toEqual(plain(request));
    const types = new Set([...stdout.matchAll(/"value":\{"(\w+Value)"/g)].map(([, type]) => type));
    expect([...types].sort()).toEqual(["arrayValue", "boolValue", "doubleValue", "intValue", "stringValue"]);
  });

  test("refuses a line that has been spoilt", () => {
    const spoilt = join(state, "spoilt.jsonl");
    const [line = ""] = readFileSync(file, "utf8").split("\n");
    for (const change of [
      (text: string) => text.slice(0, -3),
      (text: string) => text.replace(/"traceId":"[0-9a-f]{4}/, '"traceId":"zzzz'),
      (text: string) => text.replace(/"startTimeUnixNano":"\d+"/, '"startTimeUnixNano":"soon"'),
    ]) {
      writeFileSync(spoilt, `${change(line)}\n`);
      expect(decode(spoilt).status).toBe(1);
    }
  });
});

/** Members in one order, without fields that stand for "nothing", which encoders leave out or not; a value is kept as it is. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== "" && member !== 0 && !isEmpty(member))
      .map(([key, member]) => [key, key === "value" ? member : plain(member)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
