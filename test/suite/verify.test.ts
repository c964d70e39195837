// What `toolspan verify` says of the demo's output, and of the same after somebody has been at it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { build } from "../support/workspace.ts";
import { BIN, cleanEnvironment, type Ran, toolspan } from "./command.ts";
import { filesIn, receiptsIn } from "./otlp-file.ts";
import { AIRLINE } from "./transcripts.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const base = mkdtempSync(join(tmpdir(), "toolspan-verify-"));
const untouched = join(base, "untouched");
const folder = join(base, "touched");
const LOG = "airline-15-0.jsonl";
const log = join(folder, "receipts", LOG);

beforeAll(async () => {
  build();
  expect((await toolspan(["demo", "--out", untouched, "--json"])).code).toBe(0);
});
beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  cpSync(untouched, folder, { recursive: true });
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

interface Report {
  readonly exit_code: number;
  readonly verdict: string;
  readonly integrity: string;
  readonly completeness: string;
  readonly findings: readonly { readonly verdict: string; readonly file: string; readonly line: number | null }[];
  readonly not_checked: readonly string[];
  readonly counts: { readonly receipts: number; readonly span_claims: number };
}

const verify = (...words: readonly string[]): Promise<Ran> => toolspan(["verify", folder, ...words]);

async function report(...words: readonly string[]): Promise<Report> {
  const { code, stdout, stderr } = await verify("--json", ...words);
  expect(stderr).toBe("");
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  const said = JSON.parse(stdout) as Report;
  expect(said.exit_code).toBe(code);
  return said;
}

const linesOf = (path: string): string[] => readFileSync(path, "utf8").split("\n").slice(0, -1);
const writeLines = (path: string, lines: readonly string[]): void =>
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));

describe("the demo's output", () => {
  test("holds, and it is said what that does not prove", async () => {
    const { code, stdout, stderr } = await verify();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^CONSISTENT/);
    expect(stdout).toContain("146 receipts");
    expect(stdout).toMatch(/Not checked:\n {2}who wrote it/);
    expect(stdout.toLowerCase()).not.toMatch(/\bvalid\b/);
  });

  test("holds for machines too, strictly, and for a single log", async () => {
    const said = await report("--strict");
    expect(said).toMatchObject({ exit_code: 0, verdict: "CONSISTENT", integrity: "ok", findings: [] });
    expect(said.counts).toMatchObject({ receipts: 146, span_claims: 146 });
    expect(said.not_checked.length).toBeGreaterThan(1);
    expect((await toolspan(["verify", log])).code).toBe(0);
  });

  test("cannot be said to be somebody's: nothing signed it", async () => {
    const trust = join(base, "key.txt");
    const made = await toolspan(["keys", "init", "--key", join(base, "key.pem"), "--json"]);
    writeFileSync(trust, `${JSON.parse(made.stdout).verifier_key}\n`);
    expect(await report("--trust", trust)).toMatchObject({ exit_code: 2, integrity: "ok" });
  });
});

describe("exit 1, with file and line, after", () => {
  test.each(["first", "middle", "last"])("one bit flipped in the %s line", async (which) => {
    const lines = linesOf(log);
    const at = { first: 0, middle: Math.floor(lines.length / 2), last: lines.length - 1 }[which] ?? 0;
    const bytes = readFileSync(log);
    const offset =
      Buffer.byteLength(
        lines
          .slice(0, at)
          .map((line) => `${line}\n`)
          .join(""),
      ) + 40;
    bytes[offset] = (bytes[offset] ?? 0) ^ 0x01;
    writeFileSync(log, bytes);
    const { code, stdout } = await verify();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^CONTRADICTION/);
    expect(stdout).toMatch(new RegExp(`receipts/${LOG}(:${at + 1}|:${at + 2})?: [A-Z_]+: `));
  });

  test("a line deleted", async () => {
    const lines = linesOf(log);
    writeLines(log, lines.toSpliced(2, 1));
    const { findings, exit_code } = await report();
    expect(exit_code).toBe(1);
    expect(findings[0]).toMatchObject({ file: `receipts/${LOG}`, line: 3 });
  });

  test("two lines swapped", async () => {
    const [open = "", one = "", two = "", ...rest] = linesOf(log);
    writeLines(log, [open, two, one, ...rest]);
    expect(await report()).toMatchObject({ exit_code: 1, integrity: "bad" });
  });

  test("a line written twice", async () => {
    const lines = linesOf(log);
    writeLines(log, lines.toSpliced(2, 0, lines[1] ?? ""));
    expect(await report()).toMatchObject({ exit_code: 1, integrity: "bad" });
  });

  test("a line put in", async () => {
    const [other = ""] = linesOf(join(folder, "receipts/airline-0-0.jsonl")).slice(1);
    writeLines(log, linesOf(log).toSpliced(2, 0, other));
    expect(await report()).toMatchObject({ exit_code: 1, integrity: "bad" });
  });

  test("the last lines cut off: the head vouches for more", async () => {
    writeLines(log, linesOf(log).slice(0, -2));
    const said = await report();
    expect(said.exit_code).toBe(1);
    expect(said.findings.map(({ verdict }) => verdict)).toContain("TRUNCATED");
  });

  test("a bit flipped in a head", async () => {
    const id = (JSON.parse(linesOf(log)[0] ?? "") as { readonly chain: { readonly log: string } }).chain.log;
    const head = join(folder, "receipts", `${id}.head`);
    const bytes = readFileSync(head);
    bytes[bytes.length - 10] = (bytes[bytes.length - 10] ?? 0) ^ 0x02;
    writeFileSync(head, bytes);
    const { findings, exit_code } = await report();
    expect(exit_code).toBe(1);
    expect(findings[0]?.file).toBe(`receipts/${id}.head`);
  });

  test("a whole log deleted with its heads: its spans are still there", async () => {
    const id = (JSON.parse(linesOf(log)[0] ?? "") as { readonly chain: { readonly log: string } }).chain.log;
    for (const name of [LOG, `${id}.head`, `${id}.heads`]) rmSync(join(folder, "receipts", name));
    const { findings, exit_code, completeness } = await report();
    expect({ exit_code, completeness }).toEqual({ exit_code: 1, completeness: "bad" });
    expect(findings.map(({ verdict }) => verdict)).toEqual(["MISSING_RECEIPT", "MISSING_RECEIPT", "MISSING_RECEIPT"]);
    const [spans = ""] = filesIn(folder, "spans");
    expect(new Set(findings.map(({ file }) => file))).toEqual(new Set([`spans/${basename(spans)}`]));
  });
});

describe("exit 2, and what could not be said, for", () => {
  test("heads deleted", async () => {
    for (const name of readdirSync(join(folder, "receipts"))) {
      if (/\.heads?$/.test(name)) rmSync(join(folder, "receipts", name));
    }
    expect(await report()).toMatchObject({ exit_code: 2, verdict: "CANNOT_SAY", integrity: "unknown" });
  });

  test("the last newline cut off together with the heads", async () => {
    const id = (JSON.parse(linesOf(log)[0] ?? "") as { readonly chain: { readonly log: string } }).chain.log;
    for (const ending of ["head", "heads"]) rmSync(join(folder, "receipts", `${id}.${ending}`));
    truncateSync(log, readFileSync(log).length - 1);
    expect((await report()).exit_code).toBe(2);
  });

  test("a log that is still written; --allow-open accepts it", async () => {
    const live = join(base, "live");
    const child = spawn(process.execPath, [BIN, "demo", "--runs", "-", "--out", live, "--json"], {
      env: cleanEnvironment(),
      stdio: ["pipe", "ignore", "inherit"],
    });
    const ended = once(child, "close");
    const [first = ""] = linesOf(AIRLINE);
    child.stdin.write(`${first}\n`);
    // The pipe stays open, so the log does.
    await vi.waitFor(() => expect(receiptsIn(live)).toHaveLength(8), { timeout: 60_000 });
    const open = await toolspan(["verify", live]);
    expect(open.code).toBe(2);
    expect(open.stdout).toMatch(/UNCLOSED/);
    expect((await toolspan(["verify", live, "--allow-open", "1000"])).code).toBe(0);
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
    expect((await toolspan(["verify", live])).code).toBe(0);
  });
});

test("names of files that somebody chose are escaped before they meet a terminal", async () => {
  writeFileSync(join(folder, "receipts", "\u001B[2J\u202Eevil.jsonl"), "{}\n");
  const { code, stdout } = await verify();
  expect(code).toBe(1);
  expect(stdout).toContain("receipts/\\x1b[2J\\u{202e}evil.jsonl");
  expect(stdout).not.toContain("\u001B");
  expect(stdout).not.toContain("\u202E");
});
