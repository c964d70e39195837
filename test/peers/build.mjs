// Builds the real programs of the stack from the Go module proxy, once: they are kept outside the checkout, under the hash of what they are made of.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "toolspan-peers");

/**
 * The folder that pins each program and the Go package that it is.
 *
 * @type {Readonly<Record<string, { readonly folder: string, readonly main: string, readonly tags?: string }>>}
 */
const PROGRAMS = {
  otelcol: { folder: "collector", main: "." },
  checks: { folder: "checks", main: "." },
  // Without service discovery, which nothing here uses and which is most of the work of building it.
  prometheus: { folder: "prometheus", main: "github.com/prometheus/prometheus/cmd/prometheus", tags: "remove_all_sd" },
  promtool: { folder: "prometheus", main: "github.com/prometheus/prometheus/cmd/promtool", tags: "remove_all_sd" },
  jaeger: { folder: "jaeger", main: "github.com/jaegertracing/jaeger/cmd/jaeger" },
};

/**
 * Where a program is, or will be once it is built: `<cache>/<folder>-<hash of its *.go, go.mod, go.sum and tags>/<program>`.
 *
 * @param {string} name
 * @returns {string}
 */
export function binaryPath(name) {
  const program = PROGRAMS[name];
  if (program === undefined) throw new Error(`${name}: is none of ${Object.keys(PROGRAMS).join(", ")}`);
  const folder = join(here, program.folder);
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}\n${program.tags ?? ""}`);
  for (const file of readdirSync(folder).sort()) {
    if (/\.go$|^go\.(mod|sum)$/.test(file)) hash.update(`${file}\n`).update(readFileSync(join(folder, file)));
  }
  return join(cache, `${program.folder}-${hash.digest("hex").slice(0, 16)}`, name);
}

/**
 * The path of a program that has been built.
 *
 * @param {string} name
 * @returns {string}
 * @throws Error that says how to build it.
 */
export function peerBinary(name) {
  const path = binaryPath(name);
  if (!existsSync(path)) throw new Error(`${name}: not built on this machine; run: node test/peers/build.mjs`);
  return path;
}

/**
 * Builds what is missing, one program after the other; whoever comes meanwhile waits and finds them built.
 *
 * @param {readonly string[]} names
 */
export async function buildPeers(names = Object.keys(PROGRAMS)) {
  const missing = () => names.filter((name) => !existsSync(binaryPath(name)));
  if (missing().length === 0) return;
  const release = await takeLock();
  try {
    for (const name of missing()) build(name);
  } finally {
    release();
  }
}

/** @param {string} name */
function build(name) {
  const started = performance.now();
  const target = binaryPath(name);
  const { folder, main, tags = "" } = /** @type {NonNullable<(typeof PROGRAMS)[string]>} */ (PROGRAMS[name]);
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), "build-"));
  try {
    // Go's own variables (GOPROXY, GOFLAGS, GOCACHE, …) come from the environment as they are.
    const args = ["build", `-tags=${tags}`, "-ldflags=-s -w", "-o", join(work, name), main];
    const { error, status, stderr } = spawnSync("go", args, { cwd: join(here, folder), encoding: "utf8" });
    if (error !== undefined) throw new Error(`${name}: go does not start (${error.message}); install Go 1.26 or later`);
    if (status !== 0) throw new Error(`${name}: go build ended with ${status}\n${stderr.slice(-4000)}`);
    renameSync(join(work, name), target);
  } finally {
    rmSync(work, { recursive: true });
  }
  process.stdout.write(`built ${name} in ${Math.round((performance.now() - started) / 1000)} s\n`);
}

/** One build at a time on a machine; the lock of a process that is gone is taken over. */
async function takeLock() {
  const lock = join(cache, "building");
  mkdirSync(cache, { recursive: true });
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" });
      const release = () => rmSync(lock, { force: true });
      process.once("exit", release);
      return release;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
    }
    if (isAbandoned(lock)) rmSync(lock, { force: true });
    else await setTimeout(500);
  }
}

/** @param {string} lock */
function isAbandoned(lock) {
  try {
    const holder = Number(readFileSync(lock, "utf8"));
    // A holder that has made the file and not yet written its id gets another turn.
    if (holder > 0) process.kill(holder, 0);
    return false;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "ESRCH";
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2);
  const names = asked.length > 0 ? asked : Object.keys(PROGRAMS);
  await buildPeers(names);
  for (const name of names) process.stdout.write(`${binaryPath(name)}\n`);
}
