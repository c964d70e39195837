// The commands `export` and `prune` as a user runs them: what they print, and how they end.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher } from "@toolspan/core";
import { fileSigner, initSigningKey, withAuditLog } from "@toolspan/receipts";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { linesByLog, logsEndpoint } from "../receipts/endpoint.ts";
import { freePort } from "../support/free-port.ts";
import { build } from "../support/workspace.ts";
import { toolspan } from "./command.ts";
import { arrivedIn, follow, linesIn, startEndpoint } from "./delivery-story.ts";

beforeAll(build);

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "toolspan-export-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A state folder with the closed, signed log of `count` calls. */
async function stateFolder(count: number, root: string = join(temporaryFolder(), "state")): Promise<string> {
  const { path } = initSigningKey(join(temporaryFolder(), "key.pem"), "host-1");
  const log = withAuditLog({ stateDir: root, hash: "sha256", signer: fileSigner(path) });
  const dispatch = createDispatcher([log]);
  for (let n = 0; n < count; n++) {
    await dispatch({ toolName: "work", toolArgs: { n }, turn: { iteration: 1, sessionId: "session" } }, () => n);
  }
  await log.close();
  return root;
}

describe("toolspan export", () => {
  test("delivers, says what, and exits 0; headers and --outside are passed on", async () => {
    const root = await stateFolder(3);
    const endpoint = await logsEndpoint();
    const words = ["export", root, "--endpoint", endpoint.url, "--header", "authorization=Bearer x=y", "--outside"];
    const { code, stdout, stderr } = await toolspan([...words, "--header", "x-team=blue"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(`5 lines and 1 head delivered to ${endpoint.url}/v1/logs\n1 signed head anchored there\n`);
    expect(endpoint.requests[0]?.headers).toMatchObject({ authorization: "Bearer x=y", "x-team": "blue" });
    expect([...linesByLog(endpoint.taken).values()].flat()).toEqual(linesIn(root));
  });

  test("takes endpoint, headers and folder from the environment; --json is one object", async () => {
    const root = await stateFolder(1);
    const endpoint = await logsEndpoint();
    const env = {
      TOOLSPAN_STATE_DIR: root,
      TOOLSPAN_RECEIPTS_OTLP_ENDPOINT: endpoint.url,
      TOOLSPAN_RECEIPTS_OTLP_HEADERS: "x-key=a%20b",
    };
    const { code, stdout } = await toolspan(["export", "--json"], { env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      endpoint: expect.stringMatching(/^127\.0\.0\.1_\d+-[0-9a-f]{16}$/),
      url: `${endpoint.url}/v1/logs`,
      lines: 3,
      heads: 1,
      anchored: 0,
      parked: 0,
      left: { logs: 0, lines: 0, heads: 0, bytes: 0, unreadable: 0 },
      dead_letters: 0,
      held_by: null,
    });
    expect(endpoint.requests[0]?.headers["x-key"]).toBe("a b");
  });

  test("exits 1 for as long as something lies there that was refused, and --dead-letters sends it again", async () => {
    const root = await stateFolder(2);
    const refusing = await logsEndpoint(() => ({ status: 403 }));
    const refused = await toolspan(["export", root, "--endpoint", refusing.url]);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain("5 records refused and parked\n5 records in the dead-letter file");
    const later = await toolspan(["export", root, "--endpoint", refusing.url]);
    expect(later.code).toBe(1);
    expect(later.stdout).toContain("0 lines and 0 heads delivered");
    await refusing.close();
    const back = await logsEndpoint(undefined, refusing.port);
    const again = await toolspan(["export", root, "--endpoint", back.url, "--dead-letters"]);
    expect(again.code).toBe(0);
    expect([...linesByLog(back.taken).values()].flat()).toEqual(linesIn(root));
  });

  test("exits 2 when the endpoint cannot be had in time, and says what is left", async () => {
    const root = await stateFolder(2);
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout, stderr } = await toolspan(["export", root, "--endpoint", url, "--patience", "3"]);
    expect(code).toBe(2);
    expect(stdout).toContain("4 lines and 1 head left; they stay in the logs\n");
    expect(stderr).toContain("cannot be had (ECONNREFUSED)");
  });

  test.each<[string, readonly string[]]>([
    ["no endpoint", []],
    ["an endpoint that is none", ["--endpoint", "collector"]],
    ["a header that is none", ["--endpoint", "http://h", "--header", "nothing"]],
    ["no time", ["--endpoint", "http://h", "--patience", "long"]],
  ])("exits 64 with %s", async (_, words) => {
    const { code, stdout, stderr } = await toolspan(["export", await stateFolder(1), ...words]);
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
    expect(stderr).toMatch(/^toolspan: .*\n$/);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("--follow delivers what comes, and ends in order at %s", async (signal) => {
    const folder = temporaryFolder();
    const file = join(folder, "arrived.jsonl");
    const { program: endpoint, port } = await startEndpoint(file);
    const root = await stateFolder(2, join(folder, "state"));
    const sender = follow(root, `http://127.0.0.1:${port}`);
    await endpoint.line((line) => Number(line) >= 5);
    await stateFolder(2, root);
    await endpoint.line((line) => Number(line) >= 10);
    expect(await sender.end(signal)).toBe(0);
    expect(arrivedIn(file).get("toolspan.tool_call.receipt")).toEqual(
      expect.arrayContaining(linesIn(root) as string[]),
    );
    expect(sender.said.at(-1)).toMatch(/^8 lines and 2 heads delivered to /);
  });

  test("says who sends when somebody else does, and exits 2", async () => {
    const folder = temporaryFolder();
    const { program: endpoint, port } = await startEndpoint(join(folder, "arrived.jsonl"));
    const root = await stateFolder(2, join(folder, "state"));
    const url = `http://127.0.0.1:${port}`;
    const sender = follow(root, url);
    await endpoint.line((line) => Number(line) >= 5);
    const { code, stdout } = await toolspan(["export", root, "--endpoint", url]);
    expect(code).toBe(2);
    expect(stdout).toBe(`process ${sender.child.pid} delivers to ${url}/v1/logs; nothing was sent from here\n`);
    expect(await sender.end("SIGTERM")).toBe(0);
  });
});

describe("toolspan prune", () => {
  test("removes what is old and delivered, and verify says PRUNED", async () => {
    const root = await stateFolder(2);
    const endpoint = await logsEndpoint();
    const early = await toolspan(["prune", root, "--older-than", "1ms", "--endpoint", endpoint.url]);
    expect(early.code).toBe(2);
    expect(early.stdout).toMatch(/^kept session\.jsonl: not delivered to 127\.0\.0\.1_/);
    await toolspan(["export", root, "--endpoint", endpoint.url]);
    const dry = await toolspan(["prune", root, "--older-than", "1ms", "--dry-run"]);
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining("would remove session.jsonl (4 lines)") });
    const { code, stdout } = await toolspan(["prune", root, "--older-than", "1ms", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      pruned: [{ file: "session.jsonl", lines: 4 }],
      kept: [],
      said: "_process.jsonl",
      dry_run: false,
    });
    const verified = await toolspan(["verify", root]);
    expect(verified.code).toBe(0);
    expect(verified.stdout).toContain("PRUNED");
    expect(readFileSync(join(root, "receipts", "_process.jsonl"), "utf8")).toContain('"record":"prune"');
  });

  test.each<[string, readonly string[], object]>([
    ["no time", [], {}],
    ["a time that is none", ["--older-than", "soon"], {}],
    ["less than TOOLSPAN_RETENTION", ["--older-than", "1d"], { TOOLSPAN_RETENTION: "30d" }],
  ])("exits 64 with %s", async (_, words, env) => {
    const { code, stderr } = await toolspan(["prune", await stateFolder(1), ...words], { env: { ...env } });
    expect(code).toBe(64);
    expect(stderr).toMatch(/^toolspan: pruneReceipts: .*\n$/);
  });
});
