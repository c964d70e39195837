// @ts-check
// Packs every package as it would be published and installs tarballs; shared by the tests and legs that need that.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/**
 * Runs a command to its end and gives what it printed.
 *
 * @param {string} folder
 * @param {string} command
 * @param {readonly string[]} args
 * @returns {string} Standard output.
 * @throws Error with all that was printed, if it does not exit with 0.
 */
export function command(folder, command, args) {
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  if (status === 0) return stdout;
  throw new Error(
    `${[command, ...args].join(" ")}: ${error?.message ?? `exit ${status ?? signal}`}\n${stdout ?? ""}${stderr ?? ""}`,
  );
}

/**
 * Builds what is out of date and packs every workspace.
 *
 * @param {string} folder Where the tarballs go; made if missing.
 * @returns {string[]} Absolute paths of the tarballs, sorted.
 */
export function packWorkspaces(folder) {
  mkdirSync(folder, { recursive: true });
  command(root, join(root, "node_modules/.bin/tsc"), ["-b"]);
  command(root, "npm", ["pack", "--workspaces", "--silent", "--pack-destination", folder]);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".tgz"))
    .sort()
    .map((name) => join(folder, name));
}

/**
 * Installs tarballs beside what a folder has, from npm's cache where it can.
 *
 * @param {string} folder Has a `package.json`.
 * @param {readonly string[]} tarballs
 */
export function installTarballs(folder, tarballs) {
  command(folder, "npm", ["install", "--no-save", "--prefer-offline", "--no-audit", "--no-fund", ...tarballs]);
}

/**
 * Installs exactly what a folder's lock file names.
 *
 * @param {string} folder
 */
export function installLocked(folder) {
  command(folder, "npm", ["ci", "--prefer-offline", "--no-audit", "--no-fund"]);
}
