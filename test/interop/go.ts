/** The Go program that verifies logs with other people's code, and why there is none if there is none. */
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const source = new URL("verifier", import.meta.url).pathname;

export interface GoVerifier {
  /** Exit code and reason. */
  run(what: "log" | "proof", path: string, keys: readonly string[]): { readonly code: number; readonly reason: string };
  readonly folder: string;
}

/** Builds it; a sentence where that cannot be done. */
export function buildGoVerifier(): GoVerifier | string {
  const folder = mkdtempSync(join(tmpdir(), "toolspan-go-"));
  const binary = join(folder, "verifier");
  const { error, status, stderr } = spawnSync("go", ["build", "-o", binary, "."], { cwd: source, encoding: "utf8" });
  if (error !== undefined) return "go does not start";
  if (status !== 0) return `go cannot build it: ${stderr.trim().split("\n").at(-1)}`;
  return {
    folder,
    run(what, path, keys) {
      const flags = keys.flatMap((key) => ["-vkey", key]);
      const ran = spawnSync(binary, [...flags, what, path], { encoding: "utf8" });
      return { code: ran.status ?? 70, reason: ran.stdout.trim() || ran.stderr.trim() };
    },
  };
}
