/** The Go programs that check us with other people's code, and why there is none if there is none. */
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface GoProgram {
  readonly binary: string;
  /** To be removed. */
  readonly folder: string;
}

export interface GoVerifier {
  /** Exit code and reason. */
  run(
    what: "log" | "proof",
    path: string,
    keys: readonly string[],
    anchors?: readonly string[],
  ): { readonly code: number; readonly reason: string };
  readonly folder: string;
}

/** Builds the program in the folder `name`; a sentence where that cannot be done. */
export function buildGo(name: "verifier" | "canonicalizer"): GoProgram | string {
  const folder = mkdtempSync(join(tmpdir(), "toolspan-go-"));
  const binary = join(folder, name);
  const cwd = new URL(name, import.meta.url).pathname;
  const { error, status, stderr } = spawnSync("go", ["build", "-o", binary, "."], { cwd, encoding: "utf8" });
  if (error !== undefined) return "go does not start";
  if (status !== 0) return `go cannot build it: ${stderr.trim().split("\n").at(-1)}`;
  return { folder, binary };
}

/** The program that verifies logs and proofs; a sentence where there is none. */
export function buildGoVerifier(): GoVerifier | string {
  const built = buildGo("verifier");
  if (typeof built === "string") return built;
  const { folder, binary } = built;
  return {
    folder,
    run(what, path, keys, anchors = []) {
      const flags = [...keys.flatMap((key) => ["-vkey", key]), ...anchors.flatMap((file) => ["-anchors", file])];
      const ran = spawnSync(binary, [...flags, what, path], { encoding: "utf8" });
      return { code: ran.status ?? 70, reason: ran.stdout.trim() || ran.stderr.trim() };
    },
  };
}
