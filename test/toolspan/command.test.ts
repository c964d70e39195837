// The command as a user meets it: help with examples, one-line errors, exit codes.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toolspan } from "../suite/command.ts";
import { build } from "../support/workspace.ts";

const folder = mkdtempSync(join(tmpdir(), "toolspan-command-"));
const PIPE = join(folder, "pipe");
beforeAll(() => void spawnSync("mkfifo", [PIPE]));
beforeAll(build);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("help", () => {
  test("of the whole names every command and every exit code, on standard output", async () => {
    const { code, stdout, stderr } = await toolspan(["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Usage: toolspan/);
    for (const word of ["demo", "verify", "show", "report", "erase", "  0 ", "  1 ", "  2 ", "  64 "])
      expect(stdout).toContain(word);
  });

  test.each(["demo", "verify", "prove", "keys", "show", "report", "erase"])(
    "of %s has an example that begins with the command",
    async (command) => {
      const { code, stdout } = await toolspan([command, "--help"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`^Usage: toolspan ${command} `));
      expect(stdout).toMatch(new RegExp(`Examples:\n  toolspan ${command}`));
      expect(stdout).toContain("--json");
      expect((await toolspan(["help", command])).stdout).toBe(stdout);
    },
  );

  test("version is the package's", async () => {
    expect(await toolspan(["--version"])).toEqual({ code: 0, stdout: "0.1.0\n", stderr: "" });
  });
});

describe("wrong usage ends with 64 and one line on standard error", () => {
  test.each([
    ["an unknown command", ["demmo"], /^toolspan: unknown command 'demmo'/],
    ["an unknown option", ["demo", "--fast"], /^toolspan: unknown option '--fast'/],
    ["an option without its value", ["demo", "--out"], /^toolspan: option '--out <dir>' argument missing/],
    ["a missing argument", ["verify"], /^toolspan: verify: a path or --proof <file>/],
    ["a path and a proof", ["verify", ".", "--proof", "x"], /^toolspan: verify: a path or --proof <file>/],
    ["a folder in place of a proof", ["verify", "--proof", "."], /^toolspan: \.: no regular file/],
    ["an endless device in place of a proof", ["verify", "--proof", "/dev/zero"], /^toolspan: \/dev\/zero: no regular/],
    ["a pipe in place of a proof", ["verify", "--proof", PIPE], /^toolspan: .*pipe: no regular file/],
    ["a key that is none", ["verify", ".", "--trust", "a+0+b"], /^toolspan: verifyLog: trust must be/],
    ["no file for a key", ["keys", "show"], /^toolspan: keys: no file is named/],
    ["another word for keys", ["keys", "make", "--key", "x"], /^toolspan: keys: init, show or rotate/],
    ["one argument too many", ["verify", "a", "b"], /^toolspan: too many arguments/],
    [
      "a number that is none",
      ["verify", ".", "--allow-open", "some"],
      /^toolspan: option '--allow-open <n>' argument 'some' is invalid/,
    ],
    [
      "a file of runs that is not there",
      ["demo", "--runs", "/not/there.jsonl"],
      /^toolspan: \/not\/there\.jsonl: no such file/,
    ],
    ["a folder in place of a file", ["demo", "--runs", "."], /^toolspan: \.: is a folder/],
    ["a path to verify that is not there", ["verify", "/not/there"], /^toolspan: \/not\/there: no such file/],
    [
      "a session that nobody knows",
      ["show", "nobody", "--out", "/not/there"],
      /^toolspan: nobody: no such file, and no session/,
    ],
  ])("%s", async (_what, words, line) => {
    const { code, stdout, stderr } = await toolspan(words, { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
    expect(stderr).toMatch(line);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test("no command at all shows what there is", async () => {
    const { code, stdout, stderr } = await toolspan([]);
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
    expect(stderr).toMatch(/Usage: toolspan/);
  });

  test("what was typed is escaped before it is repeated", async () => {
    const { stderr } = await toolspan(["demo\u001B[31m\u202Eevil"]);
    expect(stderr).toContain("demo\\x1b[31m\\u{202e}evil");
    expect(stderr).not.toContain("\u001B");
    expect(stderr).not.toContain("\u202E");
  });
});

describe("trouble with files", () => {
  test("a folder that cannot be made is one line that says why, and exit 1", async () => {
    const file = join(folder, "a-file");
    writeFileSync(file, "");
    const { code, stdout, stderr } = await toolspan(["demo", "--out", join(file, "below"), "--json"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^toolspan: .*a-file/);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test("a file that holds neither spans nor receipts is exit 2", async () => {
    const file = join(folder, "nothing.jsonl");
    writeFileSync(file, "{}\n\u001B[2J\n");
    const { code, stderr } = await toolspan(["show", file]);
    expect(code).toBe(2);
    expect(stderr).toBe(`toolspan: ${file}: holds neither spans nor receipts\n`);
  });

  test("an empty folder cannot be verified: exit 2, and it says so", async () => {
    const empty = join(folder, "empty");
    mkdirSync(empty);
    const { code, stdout } = await toolspan(["verify", empty]);
    expect(code).toBe(2);
    expect(stdout).toContain("EMPTY");
  });
});
