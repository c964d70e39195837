/** Check `api_copies`: how many copies of OpenTelemetry's API and lines of its SDK a program can meet. */

import { readdir, readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Finding, Patient } from "./finding.ts";

const CHECK = "api_copies";
const API = "@opentelemetry/api";
const SDKS = ["@opentelemetry/sdk-trace", "@opentelemetry/sdk-trace-base"];
/** Folders looked into at most: a monorepo's modules are many, and this is a quick look. */
const MAX_FOLDERS = 20_000;

interface Copy {
  readonly name: string;
  readonly version: string;
  readonly path: string;
}

/** Two copies of the API see each other's spans only by luck, and two SDK lines never. */
export async function checkApiCopies({ project }: Patient): Promise<readonly Finding[]> {
  const copies = await findCopies(project);
  const apis = copies.filter(({ name }) => name === API);
  const majors = new Set(copies.filter(({ name }) => SDKS.includes(name)).map(({ version }) => version.split(".")[0]));
  return [apiFinding(apis), ...(majors.size > 1 ? [lineFinding(copies)] : [])];
}

function apiFinding(apis: readonly Copy[]): Finding {
  const [first, ...more] = apis;
  if (first === undefined) {
    return { check: CHECK, status: "unknown", message: `no ${API} under node_modules of this folder or one above it` };
  }
  if (more.length === 0) return { check: CHECK, status: "ok", message: `one copy of ${API}, ${first.version}` };
  const versions = new Set(apis.map(({ version }) => version));
  return {
    check: CHECK,
    status: versions.size > 1 ? "problem" : "warning",
    message: `${apis.length} copies of ${API}: ${listed(apis)}; spans of one may not reach the provider of another; install one version for the whole program (npm ls ${API})`,
  };
}

function lineFinding(copies: readonly Copy[]): Finding {
  const sdks = copies.filter(({ name }) => SDKS.includes(name));
  return {
    check: CHECK,
    status: "warning",
    message: `two lines of the OpenTelemetry SDK: ${listed(sdks)}; use one`,
  };
}

function listed(copies: readonly Copy[]): string {
  return copies.map(({ version, path }) => `${version} at ${path}`).join(", ");
}

async function findCopies(project: string): Promise<readonly Copy[]> {
  const found = new Map<string, Copy>();
  const budget = { left: MAX_FOLDERS };
  for (let folder = project; ; folder = dirname(folder)) {
    await lookInto(join(folder, "node_modules"), found, budget);
    if (folder === dirname(folder)) return [...found.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }
}

/** Looks at a `node_modules` and at those of the packages inside it. */
async function lookInto(modules: string, found: Map<string, Copy>, budget: { left: number }): Promise<void> {
  for (const name of await packagesIn(modules)) {
    budget.left -= 1;
    if (budget.left < 0) return;
    if (name === API || SDKS.includes(name)) await note(join(modules, name), name, found);
    await lookInto(join(modules, name, "node_modules"), found, budget);
  }
}

async function packagesIn(modules: string): Promise<readonly string[]> {
  const names = await namesIn(modules);
  const scoped = names.filter((name) => name.startsWith("@"));
  const inside = await Promise.all(
    scoped.map(async (scope) => (await namesIn(join(modules, scope))).map((name) => `${scope}/${name}`)),
  );
  return [...names.filter((name) => !name.startsWith("@") && !name.startsWith(".")), ...inside.flat()];
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch {
    return []; // no such folder, or one that may not be read: nothing that this program could load
  }
}

async function note(folder: string, name: string, found: Map<string, Copy>): Promise<void> {
  try {
    const path = await realpath(folder);
    const { version } = JSON.parse(await readFile(join(path, "package.json"), "utf8")) as { version?: unknown };
    found.set(path, { name, version: typeof version === "string" ? version : "unknown", path });
  } catch {
    // A folder without a readable manifest is no package.
  }
}
