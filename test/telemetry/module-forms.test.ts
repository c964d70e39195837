// The same program as an ES module, as CommonJS and as one bundled file: the same spans, since nothing is patched in.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { spansOf } from "../support/otlp-receiver.ts";
import { buildPackages, runFile } from "./child.ts";

/** Beside the tests, so that packages are found as a program of this folder would find them. */
const folder = mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), "forms-"));
beforeAll(buildPackages, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

const BODY = `
const dispatch = createDispatcher([
  withTelemetry({ sink: "jsonl", dir: process.argv[2] }),
  defineLayer({ name: "with_pass", call: (call, next) => next(call) }),
]);
const main = async () => {
  await dispatch({ toolName: "t", toolArgs: { a: 1 } }, async () => 1);
  await dispatch.close();
};
main();
`;
const ESM = `import { createDispatcher, defineLayer } from "@toolspan/core";
import { withTelemetry } from "@toolspan/telemetry";
${BODY}`;
const CJS = `const { createDispatcher, defineLayer } = require("@toolspan/core");
const { withTelemetry } = require("@toolspan/telemetry");
${BODY}`;

/** What a program wrote: name, and its parent's name. */
async function spansWrittenBy(file: string): Promise<readonly (readonly [string, string | undefined])[]> {
  const dir = mkdtempSync(join(folder, "spans-"));
  const { code, stderr } = await runFile(file, { args: [dir] });
  expect([code, stderr]).toEqual([0, ""]);
  const spans = readdirSync(dir).flatMap((name) =>
    readFileSync(join(dir, name), "utf8").trimEnd().split("\n").flatMap(spansOf),
  );
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return spans.map(({ name, parentSpanId }) => [name, names.get(parentSpanId ?? "")] as const);
}

const EXPECTED = [
  ["tool_call.dispatch", "tool_call.with_pass"],
  ["tool_call.with_pass", "execute_tool t"],
  ["execute_tool t", undefined],
];

test.each([
  ["an ES module", "program.mjs", ESM],
  ["CommonJS", "program.cjs", CJS],
])("%s has a span for the call and each layer", async (_, name, text) => {
  const file = join(folder, name);
  writeFileSync(file, text);
  expect(await spansWrittenBy(file)).toEqual(EXPECTED);
});

test.each(["es", "cjs"] as const)("one bundled file (%s) has them too", async (format) => {
  const entry = join(folder, "entry.mjs");
  writeFileSync(entry, ESM);
  const outDir = join(folder, `bundle-${format}`);
  await build({
    configFile: false,
    logLevel: "silent",
    // Everything goes into the file: nothing is left to be found, or patched, at run time.
    ssr: { noExternal: true, target: "node" },
    build: {
      ssr: entry,
      outDir,
      minify: true,
      rolldownOptions: { output: { format, entryFileNames: format === "es" ? "program.mjs" : "program.cjs" } },
    },
  });
  const file = join(outDir, format === "es" ? "program.mjs" : "program.cjs");
  const bare = [...readFileSync(file, "utf8").matchAll(/(?:from|require\()\s*["'`]([^"'`]+)["'`]/g)].map(
    ([, name]) => name,
  );
  expect(bare.filter((name) => !isBuiltin(name ?? ""))).toEqual([]);
  expect(await spansWrittenBy(file)).toEqual(EXPECTED);
});
