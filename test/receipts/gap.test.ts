// Laws of silence: an hour without a promised heartbeat is a gap, and an honest slow machine is none.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson } from "@toolspan/canonical";
import { uuidv7 } from "@toolspan/core";
import { verifyLog } from "@toolspan/receipts";
import { describe, expect, test } from "vitest";
import { checkpointText } from "../../packages/receipts/src/log/checkpoint.ts";
import { headFiles } from "../../packages/receipts/src/log/head-files.ts";
import { leafHash, MerkleTree } from "../../packages/receipts/src/log/merkle.ts";
import { copyOf, logsIn, recording, recordsOf, temporaryFolder } from "./parts.ts";

const START = Date.parse("2026-11-30T08:00:00.000Z");
const MINUTE = 60_000;
const HEARTBEAT = 5 * MINUTE;

/** A line by its time after the start, and what else it is. */
type Line = readonly [minutes: number, fields: Readonly<Record<string, unknown>>];

const open = (heartbeat_ms: number | null = HEARTBEAT): Line => [
  0,
  {
    record: "segment_open",
    session_id: "session",
    writer: { host: `sha256:${"a".repeat(64)}`, boot: null, pid: 1, started_at: timeAt(0) },
    previous: null,
    truncated: [],
    heartbeat_ms,
    verifier_key: null,
  },
];
const beat = (minutes: number, reason = "idle"): Line => [
  minutes,
  { record: "heartbeat", reason, wall_ms: 1, monotonic_ms: 1 },
];
const close = (minutes: number): Line => [minutes, { record: "segment_close", reason: "end", next: null }];
/** Any record that bears its dispatch's clock; an intent is the shortest. */
const intent = (minutes: number): Line => [
  minutes,
  {
    record: "late_settlement",
    dispatch_id: uuidv7(),
    attempt: 1,
    tool_name: "add",
    session_id: null,
    tool_call_id: null,
    started_at: timeAt(0),
    duration_ms: 1,
    ok: true,
    error_type: null,
    trace_id: null,
    span_id: null,
    truncated: [],
  },
];

function timeAt(minutes: number): string {
  return new Date(START + minutes * MINUTE).toISOString().replace("Z", "000000Z");
}

/** Writes a closed log of these lines with its heads, and verifies it. */
async function verdictsOf(lines: readonly Line[]): Promise<readonly (string | number | null)[][]> {
  const root = temporaryFolder();
  const folder = join(root, "receipts");
  mkdirSync(folder);
  const log = uuidv7();
  const tree = new MerkleTree();
  let prev: string | null = null;
  let text = "";
  for (const [seq, [minutes, fields]] of lines.entries()) {
    const line = canonicalJson({
      ...fields,
      schema_version: 1,
      emitted_at: timeAt(minutes),
      chain: { log, seq, prev },
    });
    prev = leafHash(Buffer.from(line));
    tree.add(prev);
    text += `${line}\n`;
  }
  writeFileSync(join(folder, "session.jsonl"), text);
  const head = checkpointText({ log, size: tree.size, root: tree.root() });
  writeFileSync(join(folder, headFiles(log).all), head);
  writeFileSync(join(folder, headFiles(log).latest), head);
  const { findings, exitCode } = await verifyLog(root);
  expect(exitCode).toBe(findings.length === 0 ? 0 : 2);
  return findings.map(({ verdict, line }) => [verdict, line]);
}

describe("8. a promised heartbeat that is not there", () => {
  test("in an idle hour before the closing line is a gap, exit 2", async () => {
    expect(await verdictsOf([open(), intent(1), close(61)])).toEqual([["GAP", 3]]);
  });

  test("in the middle of a log is a gap at the line that ends it, each of them", async () => {
    const lines = [open(), intent(1), intent(61), beat(64), intent(65), beat(130), close(131)];
    expect(await verdictsOf(lines)).toEqual([
      ["GAP", 3],
      ["GAP", 6],
    ]);
  });

  test("of a log that promised none is nothing", async () => {
    expect(await verdictsOf([open(null), intent(1), close(6000)])).toEqual([]);
  });
});

describe("an honest log has no gap", () => {
  test.each<[string, readonly Line[]]>([
    ["with a heartbeat each interval", [open(), ...Array.from({ length: 12 }, (_, i) => beat(5 * (i + 1))), close(62)]],
    ["whose heartbeats come some seconds late", [open(), beat(5.1), beat(10.25), close(15.4)]],
    ["of a process that was held up, as its line says", [open(), intent(1), beat(61, "late"), intent(61), close(62)]],
    ["of a machine that slept, as its line says", [open(), intent(1), beat(500, "clock"), close(501)]],
    ["that was stopped between its clock and its line", [open(), intent(61), beat(61, "late"), close(62)]],
    ["whose clock was set back", [open(), beat(5), beat(-55, "clock"), beat(-50), intent(6), beat(-45), close(-44)]],
    [
      "opened after a clock was set back, with a call begun before that",
      [open(), intent(60), beat(4), beat(9), close(10)],
    ],
    ["whose clock was set forward", [open(), beat(5), beat(70, "clock"), intent(6), intent(71), close(72)]],
  ])("%s", async (_, lines) => {
    expect(await verdictsOf(lines)).toEqual([]);
  });
});

describe("a segment of a session that is not there", () => {
  /** A session in several logs that name each other, and what each of their files is called. */
  async function rotated() {
    const recorded = recording({ maxSegmentBytes: 4096 });
    for (let i = 0; i < 24; i++) {
      await recorded.call();
      await recorded.dispatch.flush();
    }
    await recorded.close();
    const logs = logsIn(recorded.receipts)
      .map((file) => ({ file, chain: recordsOf(join(recorded.receipts, file))[0]?.chain }))
      .sort((a, b) => ((a.chain?.log ?? "") < (b.chain?.log ?? "") ? -1 : 1));
    return { recorded, logs };
  }

  test("is missed by its neighbours on both sides, in one of the middle, the first and the last, exit 2", async () => {
    const { recorded, logs } = await rotated();
    expect(logs.length).toBeGreaterThan(3);
    expect((await verifyLog(recorded.root)).exitCode).toBe(0);
    for (const [at, sides] of [
      [0, 1],
      [1, 2],
      [logs.length - 1, 1],
    ] as const) {
      const copy = copyOf(recorded.root);
      const gone = logs[at];
      const files = [gone?.file, `${gone?.chain?.log}.head`, `${gone?.chain?.log}.heads`];
      for (const file of files) rmSync(join(copy, "receipts", file as string));
      const report = await verifyLog(copy);
      expect(report).toMatchObject({ exitCode: 2, completeness: "unknown" });
      expect(report.findings.map(({ verdict }) => verdict)).toEqual(Array(sides).fill("MISSING_SEGMENT"));
    }
  });
});
