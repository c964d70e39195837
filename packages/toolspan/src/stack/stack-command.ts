/** How the command `stack` is described. */

import type { Command } from "commander";
import { type End, examples, JSON_OPTION } from "../command-words.ts";
import type { Console } from "../terminal/console.ts";
import type { StackOptions } from "./stack.ts";

export function addStack(program: Command, console: Console, end: End): void {
  program
    .command("stack")
    .description("draw the order in which a module's layers run, and say what is wrong with it")
    .argument(
      "<module>",
      "a module that exports stack: a list of layers, a composition, or a dispatcher; it is run to be read",
    )
    .option("--json", JSON_OPTION)
    .addHelpText("after", examples("toolspan stack examples/captain/stack.js", "toolspan stack dist/stack.js --json"))
    .action(async (path: string, options: StackOptions) => {
      const { stack } = await import("./stack.ts");
      end(await stack(console, path, options));
    });
}
