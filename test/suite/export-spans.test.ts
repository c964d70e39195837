// Spans that were kept on disk, replayed to an endpoint: the same bytes, counted, and nothing said to be there that is not.
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Answer, type OtlpReceiver, spansOf, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { build } from "../support/workspace.ts";
import { toolspan } from "./command.ts";
import { spansIn } from "./otlp-file.ts";

let demo: string;
let receiver: OtlpReceiver;
const folders: string[] = [];
beforeAll(async () => {
  build();
  demo = folder();
  expect((await toolspan(["demo", "--out", demo])).code).toBe(0);
}, 120_000);
afterAll(() => {
  for (const each of folders) rmSync(each, { recursive: true });
});
beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(() => receiver.close());

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "toolspan-export-spans-"));
  folders.push(made);
  return made;
}

async function answering(answer: Answer): Promise<void> {
  await receiver.close();
  receiver = await startOtlpReceiver(answer);
}

/** A state folder with these lines in one file of spans. */
function stateWith(text: string): string {
  const state = folder();
  mkdirSync(join(state, "spans"));
  writeFileSync(join(state, "spans/a.jsonl"), text);
  return state;
}

const line = (...ids: readonly number[]): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [] },
        scopeSpans: [
          {
            scope: { name: "s" },
            spans: ids.map((id) => ({
              traceId: "1".repeat(32),
              spanId: String(id).padStart(16, "0"),
              name: "n",
              kind: 1,
              startTimeUnixNano: "1796060636709180777",
              endTimeUnixNano: "1796060636709180999",
              attributes: [{ key: "big", value: { intValue: "9223372036854775807" } }],
              status: {},
            })),
          },
        ],
      },
    ],
  });
const replay = (state: string, ...words: readonly string[]) =>
  toolspan(["export", state, "--spans", "--endpoint", receiver.endpoint, ...words]);

test("every span of a folder arrives byte for byte as it stands in its file, and is counted", async () => {
  const { code, stdout, stderr } = await replay(demo, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  const lines = readdirSync(join(demo, "spans")).flatMap((name) =>
    readFileSync(join(demo, "spans", name), "utf8")
      .trimEnd()
      .split("\n"),
  );
  expect(receiver.requests.map(({ body }) => body.toString())).toEqual(lines);
  expect(new Set(receiver.requests.map(({ path }) => path))).toEqual(new Set(["/v1/traces"]));
  expect(JSON.parse(stdout)).toEqual({
    url: `${receiver.endpoint}/v1/traces`,
    files: 1,
    requests: lines.length,
    spans: spansIn(demo).length,
    refused: 0,
    left: 0,
    unreadable: 0,
    unreadable_files: 0,
    notes: [],
  });
});

test("one file may be named in place of a folder, and people get one line", async () => {
  const [name] = readdirSync(join(demo, "spans"));
  const { code, stdout } = await replay(join(demo, "spans", name ?? ""));
  expect(code).toBe(0);
  expect(stdout).toMatch(/^[\d,]+ spans in \d+ requests? from 1 file sent to http:\/\/127\.0\.0\.1:\d+\/v1\/traces\n$/);
});

test("an endpoint that claims to have refused more than it was sent has refused all of it", async () => {
  await answering(() => ({ status: 200, body: '{"partialSuccess":{"rejectedSpans":"1000000"}}' }));
  const { code, stdout } = await replay(stateWith(`${line(1)}\n`));
  expect([code, stdout.split("\n").slice(0, 2)]).toEqual([
    1,
    [expect.stringMatching(/^0 spans in 1 request from 1 file/), "1 span refused"],
  ]);
});

test("integers of 64 bits arrive as they are", async () => {
  await replay(stateWith(`${line(1)}\n`));
  expect(receiver.requests[0]?.body.toString()).toContain('"intValue":"9223372036854775807"');
});

test("a torn last line is a note, the rest arrives", async () => {
  const state = stateWith(`${line(1, 2)}\n${line(3)}\n${line(4).slice(0, 100)}`);
  const { code, stdout } = await replay(state, "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    spans: 3,
    unreadable: 0,
    notes: [expect.stringMatching(/a\.jsonl:3: torn/)],
  });
});

test("a line in the middle that is no request is unreadable, named, and exit 1", async () => {
  const state = stateWith(`${line(1)}\nnot json\n${line(2)}\n`);
  appendFileSync(join(state, "spans/a.jsonl"), '{"resourceLogs":[]}\n');
  const { code, stdout } = await replay(state, "--json");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ spans: 2, unreadable: 2 });
  expect(JSON.parse(stdout).notes).toEqual([
    expect.stringContaining("a.jsonl:2: no request"),
    expect.stringContaining("a.jsonl:4: no request"),
  ]);
});

test("a pipe, a folder and a link to nothing are named, and keep nothing else from arriving", async () => {
  const state = stateWith(`${line(1)}\n`);
  const at = (name: string): string => join(state, "spans", name);
  mkdirSync(at("0-folder.jsonl"));
  symlinkSync("/nowhere", at("0-link.jsonl"));
  expect(spawnSync("mkfifo", [at("0-pipe.jsonl")]).status).toBe(0);
  const { code, stdout } = await replay(state, "--json");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ files: 1, spans: 1, unreadable: 0, unreadable_files: 3 });
  expect(JSON.parse(stdout).notes).toEqual([
    expect.stringMatching(/0-folder\.jsonl: is a folder, not a file$/),
    expect.stringMatching(/0-link\.jsonl: is a link that leads nowhere/),
    expect.stringMatching(/0-pipe\.jsonl: is a pipe, not a file$/),
  ]);
});

test("a line without end is counted and passed over", async () => {
  const state = stateWith(`${line(1)}\n`);
  appendFileSync(join(state, "spans/a.jsonl"), Buffer.alloc(65 * 1024 * 1024, "x"));
  appendFileSync(join(state, "spans/a.jsonl"), `\n${line(2)}\n`);
  const { code, stdout } = await replay(state);
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^2 spans in 2 requests .*\n1 line unreadable\nnote: .*a\.jsonl:2: longer than 64 MiB; passed over\n$/,
  );
});

test("a busy endpoint is asked again, a request is never skipped", async () => {
  await answering((_, count) => (count <= 3 ? { status: 503 } : undefined));
  const { code } = await replay(stateWith(`${line(1)}\n${line(2)}\n`));
  expect(code).toBe(0);
  expect(receiver.spans().map(({ spanId }) => Number(spanId))).toEqual([1, 2]);
});

test("an endpoint that is away is exit 2, with the number of spans that are left, within its patience", async () => {
  const { endpoint } = receiver;
  await receiver.close();
  const { code, stdout } = await toolspan([
    ...[
      "export",
      stateWith(`${line(1, 2)}\n${line(3)}\n`),
      "--spans",
      "--endpoint",
      endpoint,
      "--patience",
      "1",
      "--json",
    ],
  ]);
  receiver = await startOtlpReceiver();
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({ spans: 0, left: 3, notes: [expect.stringContaining("ECONNREFUSED")] });
}, 30_000);

test("what an endpoint refuses, whole or in part, is counted and exit 1", async () => {
  await answering((_, count) =>
    count === 1 ? { status: 400 } : { status: 200, body: '{"partialSuccess":{"rejectedSpans":"1"}}' },
  );
  const { code, stdout } = await replay(stateWith(`${line(1)}\n${line(2, 3)}\n`), "--json");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ spans: 1, refused: 2, requests: 1 });
});

test("headers are sent and never printed; an address may come from the environment", async () => {
  const { stdout, stderr } = await toolspan(
    ["export", stateWith(`${line(1)}\n`), "--spans", "--header", "authorization=Bearer s3cret"],
    {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint },
    },
  );
  expect(receiver.requests[0]?.headers.authorization).toBe("Bearer s3cret");
  expect(stdout + stderr).not.toContain("s3cret");
});

test.each<[string, readonly string[], RegExp]>([
  ["no endpoint", ["export", "--spans"], /no endpoint is named/],
  [
    "an endpoint that is none",
    ["export", "--spans", "--endpoint", "localhost:4318"],
    /expected an http or https address/,
  ],
  [
    "a folder that is not there",
    ["export", "/nowhere", "--spans", "--endpoint", "http://127.0.0.1:1"],
    /no such file or folder/,
  ],
  ["--follow", ["export", "--spans", "--follow", "--endpoint", "http://127.0.0.1:1"], /cannot be used with/],
])("%s is wrong usage, in one line", async (_, words, message) => {
  const { code, stderr } = await toolspan(words, { cwd: demo, env: { TOOLSPAN_STATE_DIR: demo } });
  expect(code).toBe(64);
  expect(stderr).toMatch(message);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
});

test.each(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"])(
  "a malformed %s is wrong usage, in one line that names it",
  async (name) => {
    const { code, stderr } = await toolspan(["export", demo, "--spans"], { env: { [name]: "localhost:4318" } });
    expect([code, stderr]).toEqual([
      64,
      expect.stringMatching(`^.*export: ${name}: expected an http or https address\n$`),
    ]);
  },
);

test("a folder without spans is exit 2", async () => {
  expect((await replay(folder())).code).toBe(2);
  expect(receiver.requests.flatMap(({ body }) => spansOf(body.toString()))).toEqual([]);
});
