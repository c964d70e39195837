// Stories of an auditor: `toolspan report` over logs of a stack with consent, policy and reasons, and `toolspan erase`.
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher } from "@toolspan/core";
import { withConsent } from "@toolspan/middleware/with-consent";
import { withRequiredReason } from "@toolspan/middleware/with-required-reason";
import { eraseSubject, verifyLog, withAuditLog } from "@toolspan/receipts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { build } from "../support/workspace.ts";
import { toolspan } from "./command.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const base = mkdtempSync(join(tmpdir(), "toolspan-report-"));
const folder = join(base, "state");
const EVIL = "=cmd|' /C calc'!A0 | <b>\u001b[2J\u202e\nhttps://evil.example";

beforeAll(async () => {
  build();
  const reason = withRequiredReason({ field: "why" });
  const consent = withConsent((call) => ({
    approved: call.toolName !== "wipe",
    decidedBy: "ada",
  }));
  const log = withAuditLog({ stateDir: folder, hash: "commit-sha256", subject: ({ turn }) => turn.agentName ?? "" });
  const dispatch = createDispatcher([log, reason.caller, consent]);
  const turn = { iteration: 1, sessionId: "case-7", runId: "run-1", agentName: "clerk", model: "m-1", provider: "p" };
  await dispatch({ toolName: "lookup", toolArgs: { id: 1, why: EVIL }, callId: "c1", turn }, () => "found");
  await dispatch({ toolName: "wipe", toolArgs: { why: "tidy up" }, callId: "c2", turn }, () => "gone");
  await dispatch({ toolName: EVIL, toolArgs: { why: "odd" }, callId: "c3", turn }, () => {
    throw new TypeError("content");
  });
  await dispatch.close();
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

interface Action {
  readonly [field: string]: unknown;
}

interface Evidence {
  readonly verification: { readonly exit_code: number; readonly not_checked: readonly string[] };
  readonly actions: readonly Action[];
  readonly refusals: readonly string[];
  readonly gaps: readonly { readonly what: string; readonly file: string; readonly line: number | null }[];
  readonly totals: { readonly [count: string]: unknown };
}

async function evidenceOf(path: string): Promise<Evidence> {
  const { code, stdout, stderr } = await toolspan(["report", path, "--json"]);
  expect(stderr).toBe("");
  const evidence = JSON.parse(stdout) as Evidence;
  expect(evidence.verification.exit_code).toBe(code);
  return evidence;
}

describe("report", () => {
  test("says of each action who, what, when, by what authority, with what outcome, and where that stands", async () => {
    const { actions, refusals, totals, gaps } = await evidenceOf(folder);
    expect(actions).toMatchObject([
      {
        agent_name: "clerk",
        session_id: "case-7",
        tool_name: "lookup",
        started_at: expect.stringMatching(/Z$/),
        decision: "approved",
        decided_by: "ada",
        decided_at: expect.stringMatching(/Z$/),
        reason: EVIL,
        status: "ok",
        refused: false,
        args_hash: expect.stringMatching(/^commit-sha256:/),
        file: "case-7.jsonl",
        line: 2,
      },
      {
        tool_name: "wipe",
        decision: "denied",
        decided_by: "ada",
        status: "consent_denied",
        refused: true,
        attempts: 0,
      },
      { tool_name: EVIL, status: "exception", refused: false, error_type: "TypeError" },
    ]);
    expect(refusals).toEqual([actions[1]?.dispatch_id]);
    expect(totals).toMatchObject({ receipts: 3, ok: 1, failed: 1, refused: 1, lines_not_shown: 0 });
    expect(gaps).toEqual([]);
  });

  test("in Markdown begins with the verdict and what was not checked, and holds no foreign markup", async () => {
    const { code, stdout } = await toolspan(["report", folder]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\*\*CONSISTENT\*\* \(exit code 0\)[\s\S]+Not checked:\n\n- who wrote it/);
    expect(stdout).toContain("approved by ada at ");
    expect(stdout).toMatch(/## Refusals\n\n- .*wipe, consent\\_denied\\: refused/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(stdout).not.toMatch(/(^|[^\\])<b>|https:\/\/evil/);
    const rows = stdout.split("\n").filter((line) => line.startsWith("| 20"));
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(row.match(/(?<!\\)\|/g)).toHaveLength(7);
    expect(stdout).not.toMatch(/compl(y|ies|iant)/i);
  });

  test("in CSV has a row for each action and the verdict, and no formula", async () => {
    const { code, stdout } = await toolspan(["report", folder, "--format", "csv"]);
    expect(code).toBe(0);
    const rows = stdout.trimEnd().split("\r\n");
    expect(rows.map((row) => row.split(",")[0])).toEqual(["record", "action", "action", "action", "verdict"]);
    expect(stdout).toContain(`"'=cmd`.slice(1));
    expect(stdout).not.toMatch(/(^|,)"?[=+@]/m);
    expect(rows[4]).toContain("CONSISTENT");
  });

  test("prints nothing of a log that was changed, and says why", async () => {
    const copy = join(base, "changed");
    const log = join(copy, "receipts/case-7.jsonl");
    cpSync(folder, copy, { recursive: true });
    writeFileSync(log, readFileSync(log, "utf8").replace('"decision":"denied"', '"decision":"approved"'));
    const { verification, actions, totals, gaps } = await evidenceOf(copy);
    expect({ exit: verification.exit_code, actions, notShown: totals.lines_not_shown }).toEqual({
      exit: 1,
      actions: [],
      notShown: 5,
    });
    expect(gaps.map(({ what }) => what)).toEqual(["MODIFIED", "NOT_SHOWN"]);
    const { stdout } = await toolspan(["report", copy]);
    expect(stdout).toContain("**CONTRADICTION**");
    expect(stdout).not.toContain("lookup");
  });

  test("goes to a new file that only its user may read, never over one that is there", async () => {
    const out = join(base, "evidence.md");
    const { code, stdout, stderr } = await toolspan(["report", folder, "--out", out]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: `${out}: 3 receipts, CONSISTENT\n` });
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const before = readFileSync(out, "utf8");
    expect(before).toContain("## Totals");
    const again = await toolspan(["report", folder, "--out", out]);
    expect(again).toMatchObject({ code: 1, stderr: `toolspan: ${out}: exists already\n` });
    expect(readFileSync(out, "utf8")).toBe(before);
  });

  test("of a folder without logs is exit 2, of a path that is not there 64, of a format nobody knows 64", async () => {
    const empty = mkdtempSync(join(base, "empty-"));
    expect((await evidenceOf(empty)).gaps).toMatchObject([{ what: "EMPTY" }]);
    expect((await toolspan(["report", "/not/there"])).code).toBe(64);
    expect((await toolspan(["report", folder, "--format", "pdf"])).code).toBe(64);
  });
});

describe("erase", () => {
  test("destroys a subject's openings, says what it does not reach, and the logs still verify", async () => {
    const { code, stdout, stderr } = await toolspan([
      "erase",
      "--subject",
      "clerk",
      "--dir",
      folder,
      "--reason",
      "asked",
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^6 openings destroyed/);
    expect(stdout).toMatch(/Not covered:\n {2}backups/);
    expect(await verifyLog(folder)).toMatchObject({ exitCode: 0 });
    const { gaps, actions } = await evidenceOf(folder);
    expect(gaps).toMatchObject([{ what: "ERASED", file: "_process.jsonl", line: 2 }]);
    expect(actions).toHaveLength(3);
  });

  test("of somebody who has none is exit 2, and changes nothing", async () => {
    const { code, stdout } = await toolspan(["erase", "--subject", "nobody", "--dir", folder, "--json"]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ openings: 0, line: null });
    expect(await eraseSubject("nobody", { stateDir: folder })).toEqual({ openings: 0, line: null });
    expect((await toolspan(["erase", "--dir", folder])).code).toBe(64);
    expect((await toolspan(["erase", "--subject", "x", "--dir", join(base, "not-there")])).code).toBe(64);
  });
});
