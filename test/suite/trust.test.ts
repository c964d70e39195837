// The command as an outsider meets it who has a key: keys, a signed demo, who wrote it, and a receipt proved alone.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { build } from "../support/workspace.ts";
import { toolspan } from "./command.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const base = mkdtempSync(join(tmpdir(), "toolspan-trust-"));
const state = join(base, "state");
const key = join(base, "signing.pem");
const policy = join(base, "policy.json");
let trust = "";

interface Said {
  readonly code: number | null;
  readonly json: Record<string, unknown>;
}

async function json(words: readonly string[], env: Record<string, string> = {}): Promise<Said> {
  const { code, stdout, stderr } = await toolspan([...words, "--json"], { env });
  expect(stderr).toBe("");
  return { code, json: JSON.parse(stdout) as Record<string, unknown> };
}

function firstDispatch(): string {
  const [file = ""] = readdirSync(join(state, "receipts")).filter((name) => name.endsWith(".jsonl"));
  const line = readFileSync(join(state, "receipts", file), "utf8").split("\n")[1] as string;
  return (JSON.parse(line) as { dispatch_id: string }).dispatch_id;
}

beforeAll(async () => {
  build();
  const made = await json(["keys", "init", "--key", key, "--name", "agent-7"]);
  expect(made.code).toBe(0);
  trust = made.json.verifier_key as string;
  expect(made.json.key_name).toBe("agent-7/toolspan");
  const demo = await toolspan(["demo", "--out", state, "--json"], { env: { TOOLSPAN_SIGNING_KEY: key } });
  expect(demo.code).toBe(0);
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

describe("a signed state folder", () => {
  test("holds with its key, and cannot be attributed with another", async () => {
    expect(await json(["verify", state, "--trust", trust])).toMatchObject({
      code: 0,
      json: { authenticity: "ok", integrity: "ok", counts: { sealed: 146 } },
    });
    const other = await json(["keys", "init", "--key", join(base, "other.pem"), "--name", "agent-7"]);
    const report = await json(["verify", state, "--trust", other.json.verifier_key as string]);
    expect(report).toMatchObject({ code: 2, json: { authenticity: "unknown" } });
  });

  test("one receipt of it is proved alone, and only to who trusts a key", async () => {
    const proof = join(base, "receipt.json");
    expect(await json(["prove", firstDispatch(), "--dir", state, "--out", proof])).toMatchObject({
      code: 0,
      json: { signed: true, line: 2 },
    });
    expect((await toolspan(["verify", "--proof", proof])).code).toBe(2);
    const { code, stdout } = await toolspan(["verify", "--proof", proof, "--trust", trust]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^PROVED/);
    writeFileSync(proof, readFileSync(proof, "utf8").replace('\\"attempts\\":1', '\\"attempts\\":2'));
    expect((await toolspan(["verify", "--proof", proof, "--trust", trust])).code).toBe(1);
    expect(await json(["prove", "nobody", "--dir", state])).toMatchObject({ code: 2, json: { reason: "not_found" } });
  });

  test("after a rotation a policy follows the change, and no output holds a private half", async () => {
    const secret = readFileSync(key, "utf8").split("\n")[2] as string;
    const rotated = await json(["keys", "rotate", "--key", key, "--dir", state]);
    expect(rotated).toMatchObject({ code: 0, json: { old_verifier_key: trust, destroyed: [trust], kept: [] } });
    const fresh = readFileSync(key, "utf8").split("\n")[2] as string;
    const shown = await toolspan(["keys", "show"], { env: { TOOLSPAN_SIGNING_KEY: key } });
    expect(shown.stdout.split("\n")[0]).toBe(rotated.json.verifier_key);
    for (const half of [secret, fresh]) expect(JSON.stringify(rotated) + shown.stdout).not.toContain(half);
    writeFileSync(policy, JSON.stringify({ keys: [trust], rotation: "signing.pem.rotations" }));
    expect((await json(["verify", state, "--trust", policy])).code).toBe(0);
    const again = await toolspan(["keys", "init", "--key", key]);
    expect(again).toMatchObject({ code: 1, stdout: "" });
    expect(again.stderr).toContain("TOOLSPAN_SIGNING_KEY");
  });
});
