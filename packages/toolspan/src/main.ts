/** The command line: takes words, runs one command, answers with an exit code. */

import { CommanderError } from "commander";
import { toFailure } from "./command-error.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { makeProgram } from "./program.ts";
import { type Console, endQuietlyWhenUnread, processConsole } from "./terminal/console.ts";

/**
 * Runs `toolspan` with these words.
 *
 * @param words What stands after the command's name: `process.argv.slice(2)`.
 * @returns The exit code; `docs/command-line.md` says what each means. Never rejects.
 */
export async function main(words: readonly string[]): Promise<ExitCode> {
  endQuietlyWhenUnread();
  return run(words, processConsole());
}

async function run(words: readonly string[], console: Console): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok;
  const program = makeProgram(console, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (thrown) {
    // Help and version end that way too, with code 0; usage errors have been said by commander.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const failure = toFailure(thrown);
    console.err.write(`toolspan: ${failure.line}\n`);
    return failure.exitCode;
  }
}
