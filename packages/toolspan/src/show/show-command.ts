/** How the command `show` is described. */

import type { Command } from "commander";
import { type End, examples, JSON_OPTION } from "../command-words.ts";
import type { Console } from "../terminal/console.ts";
import type { ShowOptions } from "./show.ts";

export function addShow(program: Command, console: Console, end: End): void {
  program
    .command("show")
    .description("draw a run as a waterfall: every layer of every tool call, when, for how long, and how it ended")
    .argument("<session|file>", "a conversation's id, or a file of spans or receipts")
    .option("--out <dir>", "where to look for a session (default: as with demo)")
    .option("--json", JSON_OPTION)
    .addHelpText("after", examples("toolspan show airline-15-0", "toolspan show audit/receipts/airline-15-0.jsonl"))
    .action(async (subject: string, options: ShowOptions) => {
      const { show } = await import("./show.ts");
      end(await show(console, subject, options));
    });
}
