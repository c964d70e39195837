/** A command that cannot go on: one line for people, and the exit code that goes with it. */

import { ToolspanError } from "@toolspan/core";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { terminalText } from "./terminal/terminal-text.ts";

/** Thrown by commands for what the user can put right. The message names the subject first, without the command's name. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.usage, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "CommandError";
    this.exitCode = exitCode;
  }
}

/** How a command that threw ends: its line without a newline, and its exit code. */
export function toFailure(thrown: unknown): { readonly line: string; readonly exitCode: ExitCode } {
  if (thrown instanceof CommandError) return { line: terminalText(thrown.message), exitCode: thrown.exitCode };
  if (ToolspanError.is(thrown))
    return { line: terminalText(`${thrown.message} (${thrown.code})`), exitCode: EXIT.failed };
  const system = systemProblem(thrown);
  if (system !== undefined) return { line: terminalText(system), exitCode: EXIT.failed };
  const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return { line: `a fault of this command: ${text}`, exitCode: EXIT.internal };
}

/** `/a/b: no such file or directory`, for errors of the operating system. */
export function systemProblem(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !("code" in thrown) || !("syscall" in thrown)) return undefined;
  const { code, path } = thrown as NodeJS.ErrnoException;
  const words = PROBLEMS[String(code)] ?? String(code);
  return path === undefined ? words : `${path}: ${words}`;
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EDQUOT: "disk quota exceeded",
  EEXIST: "exists already",
  EISDIR: "is a folder",
  ELOOP: "is a symbolic link",
  EMFILE: "too many open files",
  ENAMETOOLONG: "name too long",
  ENOENT: "no such file or folder",
  ENOSPC: "no space left on the device",
  ENOTDIR: "is not a folder",
  EPERM: "operation not permitted",
  EROFS: "file system is read-only",
};
