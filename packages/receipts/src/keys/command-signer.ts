/** `commandSigner`: signs through another process, which alone holds the key. */

import { spawn, spawnSync } from "node:child_process";
import { ToolspanError } from "@toolspan/core";
import type { Signer } from "./signer.ts";
import { parseVerifierKey } from "./verifier-key.ts";

export interface CommandSignerOptions {
  /** Program and arguments, run without a shell for each head: the bytes to sign on standard input, the 64 bytes of the Ed25519 signature on standard output, exit code 0. */
  readonly command: readonly [string, ...string[]];
  /** The public half of the key it signs with, in the form of C2SP signed-note. */
  readonly verifierKey: string;
  /** Longest time for one signature, milliseconds, > 0. Default 10,000. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 4096;

/**
 * Signs by running a command, so that this process never holds the key.
 *
 * @throws TOOLSPAN_INVALID_OPTION when made, for a command or a verifier key that is none.
 */
export function commandSigner({ command, verifierKey, timeoutMs = TIMEOUT_MS }: CommandSignerOptions): Signer {
  const key = parseVerifierKey(verifierKey);
  if (key === null) throw invalid("verifierKey", "a verifier key of C2SP signed-note", "something else");
  if (!Array.isArray(command) || command.length === 0 || !command.every((word) => typeof word === "string")) {
    throw invalid("command", "a program and its arguments", "something else");
  }
  if (!(timeoutMs > 0)) throw invalid("timeoutMs", "a number of milliseconds > 0", String(timeoutMs));
  const [program, ...words] = command;
  return {
    keyName: key.name,
    verifierKey,
    sign: (bytes) => run(program, words, bytes, timeoutMs),
    signNow(bytes) {
      const options = { input: bytes, timeout: timeoutMs, maxBuffer: MAX_BYTES, stdio: "pipe" } as const;
      const { status, stdout, error } = spawnSync(program, words, options);
      if (error !== undefined) throw error;
      if (status !== 0) throw new Error(`the signing command ended with ${status}`);
      return stdout;
    },
  };
}

function run(program: string, words: readonly string[], bytes: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    const said: Buffer[] = [];
    let length = 0;
    child.on("error", reject);
    child.stdin.on("error", () => {
      // A command that does not read its input says by its exit code what it makes of that.
    });
    child.stdout.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_BYTES) said.push(chunk);
    });
    child.on("close", (code) => {
      if (code === 0) resolve(Buffer.concat(said));
      else reject(new Error(`the signing command ended with ${code ?? "a signal"}`));
    });
    child.stdin.end(bytes);
  });
}

function invalid(option: string, expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject: "commandSigner", option, expected, received });
}
