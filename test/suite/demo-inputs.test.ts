// The demo under other circumstances: other files, a second run, a hostile environment, a stepped clock, no network.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { build, root } from "../support/workspace.ts";
import { BIN, cleanEnvironment, toolspan } from "./command.ts";
import { filesIn, isWithin, type OtlpTree, receiptsIn, recordsIn, spansIn, textsIn, treesOf } from "./otlp-file.ts";
import { AIRLINE, recordedCalls } from "./transcripts.ts";

vi.setConfig({ testTimeout: 120_000 });

const base = mkdtempSync(join(tmpdir(), "toolspan-inputs-"));
const COUNTS = { runs: 28, dispatches: 146, spans: 146, receipts: 146, failed_tools: 5, counts_agree: true };
let folder: string;
let made = 0;

beforeAll(build);
beforeEach(() => {
  made += 1;
  folder = join(base, `out-${made}`);
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

function file(...lines: readonly (string | Uint8Array)[]): string {
  const path = join(base, `runs-${made}.jsonl`);
  writeFileSync(path, "");
  for (const line of lines) {
    appendFileSync(path, line);
    appendFileSync(path, "\n");
  }
  return path;
}

function run(id: string, toolCalls: number, answer: (position: number) => string | undefined = () => "done"): string {
  const tool_calls = Array.from({ length: toolCalls }, (_, n) => ({
    id: "same",
    type: "function",
    function: { name: "work", arguments: `{"n":${n}}` },
  }));
  const answers = tool_calls.flatMap((_, n) => {
    const content = answer(n);
    return content === undefined ? [] : [{ role: "tool", content }];
  });
  const messages = [{ role: "user", content: "go" }, { role: "assistant", content: null, tool_calls }, ...answers];
  return JSON.stringify({ id, messages: [...messages, { role: "assistant", content: "there" }] });
}

async function expectVerified(): Promise<void> {
  const { code, stdout } = await toolspan(["verify", folder]);
  expect(code, stdout).toBe(0);
}

const demo = (words: readonly string[] = [], options: Parameters<typeof toolspan>[1] = {}) =>
  toolspan(["demo", "--out", folder, "--json", ...words], options);

const everyNode = (tree: OtlpTree): readonly OtlpTree[] => [tree, ...tree.children.flatMap(everyNode)];

describe("lines that hold no conversation", () => {
  test("are told by number, the others run, and the end is exit 1", async () => {
    const path = file(
      run("first", 2),
      "{not json",
      "",
      '{"id":"no-messages"}',
      run("second", 1),
      new Uint8Array([0x22, 0xff, 0xfe, 0x22]),
      '{"id":"\\u001b[31m","messages":[{"role":"\\u202e"}]}',
    );
    const { code, stdout, stderr } = await demo(["--runs", path]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ runs: 2, dispatches: 3, spans: 3, receipts: 3, malformed_lines: 4 });
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    const lines = stderr.trimEnd().split("\n");
    expect(lines.map((line) => /runs-\d+\.jsonl:(\d+): /.exec(line)?.[1])).toEqual(["2", "4", "6", "7"]);
    expect(stderr).not.toContain("\u001B");
    expect(stderr).not.toContain("\u202E");
    expect(stderr).not.toContain("not json");
  });

  test("a hundred of them are counted, not all printed", async () => {
    const { code, stdout, stderr } = await demo([
      "--runs",
      file(...Array.from({ length: 100 }, () => "{"), run("one", 1)),
    ]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ runs: 1, dispatches: 1, malformed_lines: 100 });
    expect(stderr.trimEnd().split("\n")).toHaveLength(21);
    expect(stderr).toContain("and 80 lines more like these");
  });

  test("an empty file is no run, no dispatch, and nothing wrong", async () => {
    const { code, stdout } = await demo(["--runs", file()]);
    expect(JSON.parse(stdout)).toMatchObject({ runs: 0, dispatches: 0, spans: 0, receipts: 0, counts_agree: true });
    expect(code).toBe(0);
  });
});

describe("other recordings", () => {
  test("a call without an answer fails as executor_error, and leaves its span and receipt", async () => {
    const { code, stdout } = await demo(["--runs", file(run("half", 2, (n) => (n === 0 ? "done" : undefined)))]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ runs: 1, dispatches: 2, spans: 2, receipts: 2, failed_tools: 1 });
    expect(receiptsIn(folder).map(({ status }) => status)).toEqual(["ok", "executor_error"]);
  });

  test("arguments that are no JSON are refused, and leave span and receipt", async () => {
    const broken = run("broken", 1).replace('\\"n\\":0', "oops");
    const { stdout } = await demo(["--runs", file(broken)]);
    expect(JSON.parse(stdout)).toMatchObject({
      dispatches: 1,
      spans: 1,
      receipts: 1,
      failed_tools: 1,
      counts_agree: true,
    });
    expect(receiptsIn(folder).map(({ status }) => status)).toEqual(["schema_violation"]);
  });

  test("runs without an id are sessions by their line", async () => {
    await demo(["--runs", file("", run("x", 1).replace('"id":"x",', ""))]);
    expect(receiptsIn(folder).map(({ session_id }) => session_id)).toEqual(["line-2"]);
  });

  test("two runs of one id are two traces in one session's log", async () => {
    const { stdout } = await demo(["--runs", file(run("twin", 1), run("twin", 2))]);
    expect(JSON.parse(stdout)).toMatchObject({ runs: 2, dispatches: 3, spans: 3, receipts: 3, receipt_logs: 1 });
    expect(new Set(receiptsIn(folder).map(({ trace_id }) => trace_id)).size).toBe(2);
  });

  test("more sessions than a process keeps logs open share one log, which verifies", async () => {
    const path = file(...Array.from({ length: 300 }, (_, n) => run(`s${n}`, 2)));
    const { code, stdout } = await demo(["--runs", path]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      runs: 300,
      dispatches: 600,
      spans: 600,
      receipts: 600,
      receipt_logs: 1,
    });
    expect(new Set(receiptsIn(folder).map(({ session_id }) => session_id)).size).toBe(300);
    await expectVerified();
  });

  test.each(["/dev/stdin", "-"])("a pipe is read once, and whole: %s", (named) => {
    const command = `cat ${AIRLINE} | ${process.execPath} ${BIN} demo --runs ${named} --out ${folder} --json`;
    const { stdout, status } = spawnSync("sh", ["-c", command], { cwd: root, encoding: "utf8" });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject(COUNTS);
  });
});

describe("a second run into the same folder", () => {
  test("adds files, counts only its own, and leaves a folder that verifies", async () => {
    expect(JSON.parse((await demo()).stdout)).toMatchObject(COUNTS);
    const before = new Map(
      [...filesIn(folder, "spans"), ...filesIn(folder, "receipts")].map((path) => [path, readFileSync(path)]),
    );
    expect(JSON.parse((await demo()).stdout)).toMatchObject(COUNTS);
    for (const [path, bytes] of before) expect(readFileSync(path).equals(bytes), path).toBe(true);
    expect(filesIn(folder, "spans")).toHaveLength(2);
    expect(receiptsIn(folder)).toHaveLength(292);
    await expectVerified();
  });

  test("two at the same time count their own", async () => {
    const both = await Promise.all([demo(), demo()]);
    for (const { code, stdout } of both) {
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject(COUNTS);
    }
    await expectVerified();
  });
});

describe("the environment", () => {
  test("samplers, switches and endpoints do not touch the demo", async () => {
    const { code, stdout, stderr } = await demo([], {
      env: {
        OTEL_TRACES_SAMPLER: "always_off",
        OTEL_TRACES_SAMPLER_ARG: "0",
        OTEL_SDK_DISABLED: "true",
        OTEL_TRACES_EXPORTER: "none",
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
        OTEL_RESOURCE_ATTRIBUTES: "service.instance.id=mine",
        TOOLSPAN_DISABLED: "1",
        TOOLSPAN_STATE_DIR: join(base, "elsewhere"),
      },
    });
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ ...COUNTS, state_folder: folder });
  });

  test("without --out, TOOLSPAN_STATE_DIR says where", async () => {
    const { stdout } = await toolspan(["demo", "--json"], { env: { TOOLSPAN_STATE_DIR: folder } });
    expect(JSON.parse(stdout)).toMatchObject({ ...COUNTS, state_folder: folder });
  });

  test("content is recorded on the standard opt-in, and only then", async () => {
    const answer = recordedCalls()[0]?.answer ?? "";
    const city = "Austin";
    expect(answer).toContain(city);
    await demo([], { env: { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" } });
    expect(textsIn(folder, "spans").join()).toContain(city);
    expect(textsIn(folder, "receipts").join()).not.toContain(city);
  });
});

describe("time", () => {
  test("a wall clock that is stepped in mid-run moves no child out of its parent and turns no order round", async () => {
    const clock = new URL("stepped-clock.mjs", import.meta.url).pathname;
    const { code, stdout, stderr } = await demo([], { node: ["--import", clock] });
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject(COUNTS);
    for (const tree of treesOf(spansIn(folder))) {
      const nodes = everyNode(tree);
      for (const node of nodes) for (const child of node.children) expect(isWithin(child.span, node.span)).toBe(true);
      const starts = nodes.map(({ span }) => BigInt(span.startTimeUnixNano));
      expect(starts).toEqual(starts.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(new Set(starts).size).toBe(starts.length);
    }
    const hours = new Set(
      recordsIn(folder).map(({ emitted_at }) => Math.round((Date.parse(String(emitted_at)) - Date.now()) / 3_600_000)),
    );
    expect([...hours].sort((a, b) => a - b)).toEqual(expect.arrayContaining([-1, 0]));
    await expectVerified();
  });
});

describe("on the screen", () => {
  test("says where spans and receipts are, the three counts, one run as a waterfall, and what to do next", async () => {
    const { code, stdout, stderr } = await toolspan(["demo", "--out", folder]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("[withAuditLog, withTelemetry, withTimeout, withConsent(auto)]");
    expect(stdout).toMatch(/dispatches +146\n/);
    expect(stdout).toMatch(new RegExp(`execute_tool spans +146 +in ${folder}/spans/`));
    expect(stdout).toMatch(new RegExp(`receipts +146 +in ${folder}/receipts/`));
    expect(stdout).toMatch(/^└ |^├ execute_tool /m);
    expect(stdout).toMatch(/tool_call\.with_consent .* approved$/m);
    expect(stdout).toMatch(/error, tool_error$/m);
    expect(stdout).toContain(`npx toolspan verify ${folder}`);
    expect(stdout).not.toContain("\u001B");
  });

  test("a run of many calls is drawn in part, one of very many is not drawn", async () => {
    const { stdout } = await toolspan(["demo", "--runs", file(run("long", 100)), "--out", folder]);
    expect(stdout.split("\n").filter((line) => line.includes("█"))).toHaveLength(80);
    expect(stdout).toContain("and 423 more spans\n");
    const { stdout: longer } = await toolspan(["demo", "--runs", file(run("longer", 1001)), "--out", folder]);
    expect(longer).not.toContain("█");
    expect(longer).toMatch(/receipts +1,001 /);
  });

  const script = spawnSync("script", ["--version"]).status === 0 ? undefined : "there is no script(1)";
  test.skipIf(script !== undefined)(
    `a terminal sees a progress bar${script === undefined ? "" : ` (skipped: ${script})`}`,
    () => {
      const command = `${process.execPath} ${BIN} demo --out ${folder}`;
      const { stdout, status } = spawnSync("script", ["-qec", command, "/dev/null"], {
        cwd: root,
        encoding: "utf8",
        env: { ...cleanEnvironment(), TERM: "xterm" },
      });
      expect(status).toBe(0);
      const drawn = stdout.split("\r\u001B[K").filter((text) => text.startsWith("replaying"));
      expect(drawn[0]).toMatch(/^replaying [█░]{28} +\d+ % \d+ runs?, [\d,]+ tool calls?/);
      expect(stdout).toContain("approved");
    },
  );

  const offline = spawnSync("unshare", ["-n", "true"]).status === 0 ? undefined : "unshare -n is not allowed here";
  test.skipIf(offline !== undefined)(
    `no network is needed${offline === undefined ? "" : ` (skipped: ${offline})`}`,
    () => {
      const { stdout, status } = spawnSync(
        "unshare",
        ["-n", "npm", "run", "--silent", "demo", "--", "--out", folder, "--json"],
        {
          cwd: root,
          encoding: "utf8",
          env: cleanEnvironment(),
        },
      );
      expect(status).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject(COUNTS);
    },
  );
});

test("an interrupt finishes what runs, closes every log, and ends with 130", async () => {
  const child = spawn(process.execPath, [BIN, "demo", "--runs", "-", "--out", folder, "--json"], {
    env: cleanEnvironment(),
    stdio: ["pipe", "pipe", "inherit"],
  });
  // The pipe stays open: without the interrupt this would wait for ever.
  for (let n = 0; n < 50; n += 1) child.stdin.write(`${run(`s${n}`, 3)}\n`);
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  const ended = once(child, "close");
  await vi.waitFor(() => expect(receiptsIn(folder).length).toBeGreaterThan(0), { timeout: 60_000 });
  child.kill("SIGINT");
  expect(await ended).toEqual([130, null]);
  const said = JSON.parse(stdout) as { readonly dispatches: number };
  expect(said).toMatchObject({ spans: said.dispatches, receipts: said.dispatches, counts_agree: true });
  await expectVerified();
});
