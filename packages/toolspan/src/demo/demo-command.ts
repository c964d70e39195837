/** How the command `demo` is described. */

import type { Command } from "commander";
import { type End, examples, JSON_OPTION } from "../command-words.ts";
import type { Console } from "../terminal/console.ts";
import type { DemoOptions } from "./demo.ts";

export function addDemo(program: Command, console: Console, end: End): void {
  program
    .command("demo")
    .description("replay recorded agent runs through the loop: a trace and a receipt for every tool call")
    .option(
      "--runs <file>",
      "conversations in OpenAI's chat format, one a line; - for standard input (default: the 28 it comes with)",
    )
    .option(
      "--out <dir>",
      "where spans/ and receipts/ go (default: TOOLSPAN_STATE_DIR, else .toolspan of this project)",
    )
    .option("--json", JSON_OPTION)
    .addHelpText("after", examples("toolspan demo", "toolspan demo --runs runs.jsonl --out audit --json"))
    .action(async (options: DemoOptions) => {
      const { demo } = await import("./demo.ts");
      end(await demo(console, options));
    });
}
