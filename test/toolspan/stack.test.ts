// The command `stack`: a picture of the order that runs, one line for each finding, and an exit code that says whether it is sound.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toolspan } from "../suite/command.ts";
import { build, root } from "../support/workspace.ts";

mkdirSync(join(root, ".build"), { recursive: true });
const folder = mkdtempSync(join(root, ".build/stack-"));
beforeAll(build);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const IMPORTS = `
import { composeToolCallers, createDispatcher, defineLayer } from "@toolspan/core";
import { argsKey, autoApprove, withConsent, withIdempotency, withRedaction, withRetry, withScopedExecutor } from "@toolspan/middleware";
const consent = withConsent(autoApprove);
const cache = withIdempotency(argsKey());
const redaction = withRedaction(() => ({}));
const retry = withRetry();
const rewrite = defineLayer({ name: "with_rewrite", traits: { rewritesArgs: "any" }, call: (call, next) => next(call) });
const plain = (call, next) => next(call);
`;
let modules = 0;

/** A module that exports `stack`. */
function moduleOf(stack: string): string {
  modules += 1;
  const path = join(folder, `stack-${modules}.mjs`);
  writeFileSync(path, `${IMPORTS}\nexport const stack = ${stack};\n`);
  return path;
}

test("of the captain example prints the picture and no finding", async () => {
  const { code, stdout, stderr } = await toolspan(["stack", "examples/captain/stack.js"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const names = stdout.split("\n").map((row) => row.trim().split(" ").slice(0, 2).join(" "));
  expect(names).toEqual([
    "observer with_telemetry",
    "recorder with_audit_log",
    "0 with_summary",
    "1 with_scoped_executor",
    "2 with_consent",
    "3 with_required_reason",
    "4 with_redaction",
    "5 with_handoff_artifact",
    "6 with_idempotency",
    "7 with_rate_limit",
    "8 with_dry_run",
    "9 with_retry",
    "10 with_retry_attempt",
    "11 with_timeout",
    "",
    "no finding",
    "",
  ]);
});

describe("of a bad order", () => {
  test.each([
    [
      "[consent, rewrite]",
      "error decider_outside_rewriter: with_consent judges arguments that with_rewrite rewrites afterwards, which voids the decision; put with_rewrite outside with_consent",
    ],
    [
      "[cache, redaction]",
      "error cache_outside_redaction: with_idempotency makes keys of arguments that with_redaction has not masked, though it stores masked results; put with_redaction outside with_idempotency",
    ],
    [
      "[retry, consent]",
      "warning retry_outside_decider: with_retry asks with_consent again at every attempt; put with_consent outside with_retry",
    ],
    [
      "[cache, consent]",
      "warning cache_outside_decider: with_idempotency answers from earlier results without asking with_consent; put with_consent outside with_idempotency",
    ],
    [
      "[retry, retry]",
      "warning retry_outside_retry: with_retry repeats what with_retry has repeated, so attempts multiply; keep one of them",
    ],
  ])("%s prints its sentence and exits 1", async (stack, sentence) => {
    const { code, stdout } = await toolspan(["stack", moduleOf(stack)]);
    expect(stdout.trimEnd().split("\n\n")[1]).toBe(sentence);
    expect(code).toBe(1);
  });
});

describe("of a sound order", () => {
  test.each([
    [
      "undeclared functions",
      "[plain, plain, (call, next) => next(call)]",
      "0 plain\n  1 plain\n    2 layer_2\n\nno finding\n",
    ],
    ["nothing", "[]", "no layer: every call goes straight to its tool\n\nno finding\n"],
    ["a composition", "composeToolCallers([plain])", "0 plain\n\nno finding\n"],
    ["a dispatcher", "createDispatcher([plain])", "0 plain\n\nno finding\n"],
    ["one layer", "plain", "0 plain\n\nno finding\n"],
  ])("a module may export %s", async (_, stack, printed) => {
    expect(await toolspan(["stack", moduleOf(stack)])).toEqual({ code: 0, stdout: printed, stderr: "" });
  });

  test("a finding of severity info is printed, and the exit code stays 0", async () => {
    const { code, stdout } = await toolspan([
      "stack",
      moduleOf('[consent, withScopedExecutor({ allowedTools: ["a"] })]'),
    ]);
    expect(stdout).toContain(
      "info decider_outside_scope: with_consent is asked about calls that with_scoped_executor refuses",
    );
    expect(code).toBe(0);
  });
});

test("--json prints one object with layers and findings, and nothing else", async () => {
  const { code, stdout } = await toolspan(["stack", moduleOf("[retry, consent]"), "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    layers: [
      { role: "layer", index: 0, name: "with_retry", traits: { rewritesArgs: "no", audits: false, retries: true } },
      { role: "layer", index: 1, name: "with_retry_attempt", traits: { rewritesArgs: "no", audits: false } },
      { role: "layer", index: 2, name: "with_consent", traits: { rewritesArgs: "no", audits: true, decides: true } },
    ],
    findings: [
      { severity: "warning", rule: "retry_outside_decider", message: expect.stringContaining("at every attempt") },
    ],
  });
});

describe("of something else is one line and an exit code", () => {
  test.each([
    ["a path that is not there", () => "/not/there.js", 64, /^toolspan: \/not\/there\.js: no such file\n$/],
    ["a folder", () => folder, 64, /: no such file\n$/],
    [
      "a module without a stack",
      () => moduleOf("undefined"),
      64,
      /: exports no stack: expected a list of layers, a composition or a dispatcher\n$/,
    ],
    ["a stack that is an object", () => moduleOf("{ layers: [] }"), 64, /: exports no stack/],
    [
      "a list that holds something else",
      () => moduleOf("[plain, { caller: plain }]"),
      64,
      /: stack: layer at position 1: .*pass \.caller\n$/,
    ],
    [
      "a module that throws",
      () => moduleOf("(() => { throw new Error('line one\\nline \\u001b[31mtwo') })()"),
      1,
      /: could not be loaded \(Error: line one line \\x1b\[31mtwo\)\n$/,
    ],
    [
      "a module that makes a layer wrongly",
      () => moduleOf("[withRetry({ maxAttempts: 0 })]"),
      1,
      /: could not be loaded \(ToolspanError: withRetry: maxAttempts must be/,
    ],
  ])("%s", async (_, path, exit, line) => {
    const { code, stdout, stderr } = await toolspan(["stack", path()]);
    expect({ code, stdout }).toEqual({ code: exit, stdout: "" });
    expect(stderr).toMatch(line);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});

test("its help has an example", async () => {
  const { code, stdout } = await toolspan(["stack", "--help"]);
  expect(code).toBe(0);
  expect(stdout).toContain("toolspan stack examples/captain/stack.js");
});
