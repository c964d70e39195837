/** The command `toolspan`: which commands it has, how it prints, and what its errors look like. */

import { readFileSync } from "node:fs";
import { Command } from "commander";
import { addErase, addKeys, addProve, addVerify } from "./audit/audit-commands.ts";
import { type End, EXIT_CODES } from "./command-words.ts";
import { addExport, addPrune } from "./deliver/deliver-commands.ts";
import { addDemo } from "./demo/demo-command.ts";
import { addDoctor } from "./doctor/doctor-command.ts";
import { addReport } from "./report/report-command.ts";
import { addShow } from "./show/show-command.ts";
import { addStack } from "./stack/stack-command.ts";
import type { Console } from "./terminal/console.ts";
import { terminalText } from "./terminal/terminal-text.ts";

/** Builds the parser; each command reports its exit code through `end`. */
export function makeProgram(console: Console, end: End): Command {
  const program = new Command("toolspan")
    .description("A span and a receipt for every tool call an AI agent makes.")
    .version(readVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => console.out.write(text),
      writeErr: (text) => console.err.write(text),
      outputError: (text, write) => write(`toolspan: ${oneLine(text)}\n`),
      getOutHasColors: () => console.out.live,
      getErrHasColors: () => console.err.live,
    })
    .addHelpText("after", EXIT_CODES);

  // Each loads what it needs when it is asked for: help and errors of usage do not wait for an SDK.
  addDemo(program, console, end);
  addVerify(program, console, end);
  addProve(program, console, end);
  addKeys(program, console, end);
  addShow(program, console, end);
  addReport(program, console, end);
  addErase(program, console, end);
  addExport(program, console, end);
  addPrune(program, console, end);
  addStack(program, console, end);
  addDoctor(program, console, end);
  return program;
}

/** Commander's message as one line: what it quotes came from outside. */
function oneLine(text: string): string {
  return terminalText(
    text
      .trim()
      .replace(/^error: /, "")
      .replaceAll("\n", " "),
  );
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return (manifest as { readonly version: string }).version;
}
