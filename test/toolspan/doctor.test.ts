// The command `doctor`: each fault it is there for is made for real, found by name, and gone when it is mended.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type RunOptions, toolspan } from "../suite/command.ts";
import { type Answer, type OtlpReceiver, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { build, root } from "../support/workspace.ts";

interface Finding {
  readonly check: string;
  readonly status: string;
  readonly message: string;
}

let project: string;
let receiver: OtlpReceiver;
const ends: (() => Promise<unknown>)[] = [];
mkdirSync(join(root, ".build"), { recursive: true });
/** Modules here find the packages of this checkout. */
const modules = mkdtempSync(join(root, ".build/doctor-"));
beforeAll(build);
afterAll(() => rmSync(modules, { recursive: true }));
beforeEach(async () => {
  project = realpathSync(mkdtempSync(join(tmpdir(), "toolspan-doctor-")));
  writeFileSync(join(project, "package.json"), "{}");
  receiver = await startOtlpReceiver();
});
afterEach(async () => {
  await receiver.close();
  for (const end of ends.splice(0)) await end();
  rmSync(project, { recursive: true });
});

async function answering(answer: Answer): Promise<void> {
  await receiver.close();
  receiver = await startOtlpReceiver(answer);
}

/** Runs it in the project, by default with a collector that answers. */
async function examined(words: readonly string[] = [], options: RunOptions = {}) {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, ...options.env };
  const { code, stdout, stderr } = await toolspan(["doctor", ...words, "--json"], { cwd: project, ...options, env });
  expect(stderr).toBe("");
  const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
  const of = (check: string): readonly Finding[] => findings.filter((finding) => finding.check === check);
  return { code, findings, of };
}

/** A package under `node_modules` of some folder of the project. */
function install(name: string, version: string, below = ""): void {
  const folder = join(project, below, "node_modules", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, version }));
}

function moduleOf(text: string): string {
  const path = join(modules, `${Math.random().toString(36).slice(2)}.mjs`);
  writeFileSync(path, text);
  return path;
}

function span(attributes: Readonly<Record<string, string>>): string {
  const listed = Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  return `${JSON.stringify({ resourceSpans: [{ resource: { attributes: listed }, scopeSpans: [] }] })}\n`;
}

function written(name: string, text: string, mode = 0o600): string {
  const folder = join(project, ".toolspan/spans");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const each of [dirname(folder), folder]) chmodSync(each, 0o700);
  const path = join(folder, name);
  writeFileSync(path, text, { mode });
  chmodSync(path, mode);
  return path;
}

test("a sound project is exit 0, one line a check", async () => {
  install("@opentelemetry/api", "1.9.1");
  written("a.jsonl", span({ "service.instance.id": "i" }));
  const { code, findings } = await examined();
  expect(findings.map(({ check, status }) => [check, status])).toEqual([
    ["api_copies", "ok"],
    ["provider", "unknown"],
    ["resource", "ok"],
    ["collector", "ok"],
    ["state_folder", "ok"],
    ["disk", expect.stringMatching(/^ok|warning$/)],
    ["clock", "ok"],
  ]);
  expect(code).toBe(findings.some(({ status }) => status === "warning") ? 1 : 0);
});

describe("API copies", () => {
  test("two versions are a problem, with the place of each", async () => {
    install("@opentelemetry/api", "1.9.1");
    install("some-sdk", "1.0.0");
    install("@opentelemetry/api", "1.10.0", "node_modules/some-sdk");
    const { code, of } = await examined();
    expect(of("api_copies")).toEqual([
      {
        check: "api_copies",
        status: "problem",
        message: expect.stringMatching(/2 copies .*1\.9\.1 at .*1\.10\.0 at /),
      },
    ]);
    expect(code).toBe(1);
  });

  test("two lines of the SDK are a warning", async () => {
    install("@opentelemetry/api", "1.9.1");
    install("@opentelemetry/sdk-trace-base", "2.12.1");
    install("other", "1.0.0");
    install("@opentelemetry/sdk-trace", "3.1.0", "node_modules/other");
    const { code, of } = await examined();
    expect(of("api_copies").map(({ status }) => status)).toEqual(["ok", "warning"]);
    expect(code).toBe(1);
  });

  test("one copy behind several links is one copy", async () => {
    install("@opentelemetry/api", "1.9.1");
    mkdirSync(join(project, "node_modules/linked/node_modules/@opentelemetry"), { recursive: true });
    symlinkSync(
      join(project, "node_modules/@opentelemetry/api"),
      join(project, "node_modules/linked/node_modules/@opentelemetry/api"),
    );
    expect((await examined()).of("api_copies").map(({ status }) => status)).toEqual(["ok"]);
  });
});

describe("a module that sets up telemetry", () => {
  test("with startTelemetry has a provider and an instance id", async () => {
    const module = moduleOf(`import { startTelemetry } from "@toolspan/telemetry/node";
startTelemetry({ serviceName: "s" }); console.log("noise"); setInterval(() => {}, 1000);`);
    const { of } = await examined([module]);
    expect(
      of("provider")
        .concat(of("resource"))
        .map(({ status }) => status),
    ).toEqual(["ok", "ok"]);
  });

  test("that registers nothing is a problem", async () => {
    const { code, of } = await examined([moduleOf("export {};")]);
    expect(of("provider")).toEqual([
      expect.objectContaining({ status: "problem", message: expect.stringContaining("no tracer provider") }),
    ]);
    expect(code).toBe(1);
  });

  test("whose provider has no instance id is a warning, and so is one without a meter", async () => {
    const module = moduleOf(`import { trace } from "@opentelemetry/api";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
trace.setGlobalTracerProvider(new BasicTracerProvider());`);
    const { of } = await examined([module]);
    expect(of("provider")).toEqual([
      expect.objectContaining({ status: "warning", message: expect.stringContaining("no meter provider") }),
    ]);
    expect(of("resource")).toEqual([
      expect.objectContaining({ status: "warning", message: expect.stringContaining("service.instance.id") }),
    ]);
  });

  test.each([
    ["throws", 'throw new Error("broken \\u001b[31m")', /cannot be loaded: Error: broken/],
    ["ends its process", "process.exit(3)", /ended its process with 3/],
  ])("that %s is a problem, and does not take the command along", async (_, text, message) => {
    const { code, of } = await examined([moduleOf(text)]);
    expect(of("provider")).toEqual([
      expect.objectContaining({ status: "problem", message: expect.stringMatching(message) }),
    ]);
    expect(code).toBe(1);
  });

  test("what it says never moves a terminal", async () => {
    const { stdout } = await toolspan(["doctor", moduleOf('throw new Error("broken \\u001b[31m")')], { cwd: project });
    expect(stdout).toContain("broken \\x1b[31m");
    expect(stdout).not.toContain("\u001b");
  });
});

test("spans on disk without an instance id are a warning", async () => {
  written("a.jsonl", span({ "service.name": "s" }));
  const { code, of } = await examined();
  expect(of("resource")).toEqual([
    expect.objectContaining({ status: "warning", message: expect.stringContaining("no service.instance.id") }),
  ]);
  expect(code).toBe(1);
});

test.each(["OTEL_SDK_DISABLED", "TOOLSPAN_DISABLED"])("%s is a warning", async (name) => {
  const { of } = await examined([], { env: { [name]: "true" } });
  expect(of("provider")[0]).toMatchObject({ status: "warning", message: expect.stringContaining(name) });
});

describe("the collector", () => {
  test("gets an empty request at each endpoint in use", async () => {
    const { of } = await examined([], { env: { TOOLSPAN_RECEIPTS_OTLP_ENDPOINT: receiver.endpoint } });
    expect([...of("collector"), ...of("receipts_endpoint")].map(({ status }) => status)).toEqual(["ok", "ok"]);
    expect(receiver.requests.map(({ path, body }) => [path, body.toString()]).toSorted()).toEqual([
      ["/v1/logs", '{"resourceLogs":[]}'],
      ["/v1/traces", '{"resourceSpans":[]}'],
    ]);
  });

  test("that is not there is a problem", async () => {
    const { endpoint } = receiver;
    await receiver.close();
    const { code, of } = await examined(["--endpoint", endpoint]);
    receiver = await startOtlpReceiver();
    expect(of("collector")).toEqual([
      expect.objectContaining({ status: "problem", message: expect.stringContaining("cannot be reached") }),
    ]);
    expect(code).toBe(1);
  });

  test("that never answers is a problem, within the deadline", async () => {
    await answering(() => "hang");
    const { of } = await examined(["--timeout", "1"]);
    expect(of("collector")[0]?.message).toContain("no answer within 1000 ms");
  });

  test.each([
    [401, "warning", /credentials/],
    [404, "problem", /no OTLP\/HTTP receiver/],
  ])("that answers %i is a %s", async (status, verdict, message) => {
    await answering(() => ({ status }));
    const { of } = await examined();
    expect(of("collector")).toEqual([
      expect.objectContaining({ status: verdict, message: expect.stringMatching(message) }),
    ]);
  });

  test.each([
    ["sends elsewhere", { status: 302, headers: { location: "/login" } }, /answered 302: it sends elsewhere/],
    [
      "answers with a page",
      { status: 200, body: "<html>login</html>", headers: { "content-type": "text/html" } },
      /answered 200 with something that is no answer to OTLP/,
    ],
  ])("that %s takes nothing: a problem", async (_, answer, message) => {
    await answering(({ path }) => (path === "/login" ? { status: 200 } : answer));
    const { code, of } = await examined();
    expect(of("collector")).toEqual([
      { check: "collector", status: "problem", message: expect.stringMatching(message) },
    ]);
    expect(receiver.requests).toHaveLength(1);
    expect(code).toBe(1);
  });

  test("at a port that fetch refuses was not tried, and that is said", async () => {
    const { of } = await examined(["--endpoint", "http://127.0.0.1:6000"]);
    expect(of("collector")).toEqual([
      { check: "collector", status: "unknown", message: expect.stringContaining("was not tried: its port") },
    ]);
  });

  test("whose address has a user that cannot be read is a problem in the environment and wrong usage in an option", async () => {
    const address = "http://us%zz:s3cret@127.0.0.1:1";
    const { of } = await examined([], { env: { OTEL_EXPORTER_OTLP_ENDPOINT: address } });
    expect(of("collector")[0]).toMatchObject({
      status: "problem",
      message: expect.stringContaining("percent-encoded"),
    });
    const { code, stderr } = await toolspan(["doctor", "--endpoint", address], { cwd: project });
    expect([code, stderr]).toEqual([64, expect.stringMatching(/^.*--endpoint: user and password .*\n$/)]);
    expect(stderr).not.toContain("s3cret");
  });

  test("that nobody named and that is not there is no fault", async () => {
    const { of } = await examined([], { env: { OTEL_EXPORTER_OTLP_ENDPOINT: undefined } });
    expect(of("collector")[0]?.status).toMatch(/ok|unknown|problem/); // somebody may listen at the default port of this machine
    expect(of("collector")[0]?.message).toContain("localhost:4318");
  });

  test("whose address has a password in it is shown without", async () => {
    const { findings, of } = await examined(["--endpoint", receiver.endpoint.replace("//", "//user:s3cret@")]);
    expect(of("collector")[0]?.status).toBe("ok");
    expect(receiver.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from("user:s3cret").toString("base64")}`);
    expect(JSON.stringify(findings)).not.toContain("s3cret");
    const silent = await examined(["--endpoint", "http://user:s3cret@127.0.0.1:1"]);
    expect(JSON.stringify(silent.findings)).not.toContain("s3cret");
  });
});

describe("the state folder", () => {
  test("that others can read is a problem, with its first path and the remedy", async () => {
    const path = written("a.jsonl", span({ "service.instance.id": "i" }), 0o644);
    const { code, of } = await examined();
    expect(of("state_folder")).toEqual([
      {
        check: "state_folder",
        status: "problem",
        message: expect.stringMatching(`1 path open to other users, first ${path}; run chmod`),
      },
    ]);
    expect(code).toBe(1);
  });

  test("that cannot be written is a problem", async () => {
    writeFileSync(join(project, "not-a-folder"), "");
    const { of } = await examined(["--dir", join(project, "not-a-folder/state")]);
    expect(of("state_folder")).toEqual([
      expect.objectContaining({ status: "problem", message: expect.stringContaining("cannot be written") }),
    ]);
  });

  test("with a pipe, a folder or a link to nothing in a file's place is a warning that names each", async () => {
    const spans = join(project, ".toolspan/spans");
    mkdirSync(join(spans, "a.jsonl"), { recursive: true, mode: 0o700 });
    symlinkSync("/nowhere", join(spans, "b.jsonl"));
    expect(spawnSync("mkfifo", ["-m", "600", join(spans, "z.jsonl")]).status).toBe(0);
    chmodSync(join(project, ".toolspan"), 0o700);
    chmodSync(spans, 0o700);
    const { code, of } = await examined();
    expect(code).toBe(1);
    expect(
      of("state_folder")
        .filter(({ status }) => status === "warning")
        .map(({ message }) => message),
    ).toEqual([
      expect.stringMatching(/a\.jsonl is a folder, not a file/),
      expect.stringMatching(/b\.jsonl is a link that leads nowhere/),
      expect.stringMatching(/z\.jsonl is a pipe, not a file/),
    ]);
  });

  test("is left as it was", async () => {
    const { of } = await examined();
    expect(of("state_folder")[0]?.message).toContain("not there yet");
    expect((await examined()).of("state_folder")[0]?.message).toContain("not there yet");
  });

  test("a signing key that is missing, or open to others, is a problem", async () => {
    const key = join(project, "key.pem");
    const missing = await examined([], { env: { TOOLSPAN_SIGNING_KEY: key } });
    expect(missing.of("state_folder")[0]?.message).toContain("is not there");
    writeFileSync(key, "x", { mode: 0o644 });
    const open = await examined([], { env: { TOOLSPAN_SIGNING_KEY: key } });
    expect(open.of("state_folder")[0]?.message).toContain("open to other users");
  });
});

describe("the clock", () => {
  test("that differs from the collector's is a warning", async () => {
    await answering(() => ({ status: 200, headers: { date: new Date(Date.now() - 3_600_000).toUTCString() } }));
    const { code, of } = await examined();
    expect(of("clock")).toEqual([
      expect.objectContaining({ status: "warning", message: expect.stringMatching(/3[56]\d\d s ahead of/) }),
    ]);
    expect(code).toBe(1);
  });

  test("that lies before what is written is a warning", async () => {
    const path = written("a.jsonl", span({ "service.instance.id": "i" }));
    utimesSync(path, Date.now() / 1000 + 600, Date.now() / 1000 + 600);
    expect((await examined()).of("clock")).toEqual([
      expect.objectContaining({ status: "warning", message: expect.stringContaining("s from now") }),
    ]);
  });
});

test("a receiver of something else is no collector", async () => {
  const server = createServer((_, response) => response.writeHead(405).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => new Promise((resolve) => server.close(resolve)));
  const { of } = await examined(["--endpoint", `http://127.0.0.1:${(server.address() as AddressInfo).port}`]);
  expect(of("collector")[0]).toMatchObject({ status: "problem", message: expect.stringContaining("answered 405") });
});

test.each([
  ["a module that is not there", ["doctor", "nowhere.mjs"]],
  ["a timeout that is no number", ["doctor", "--timeout", "soon"]],
])("%s is wrong usage, in one line", async (_, words) => {
  const { code, stderr } = await toolspan(words, { cwd: project });
  expect(code).toBe(64);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
});
