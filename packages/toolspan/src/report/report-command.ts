/** How the command `report` is described. */

import { type Command, Option } from "commander";
import { type End, examples, wholeNumber } from "../command-words.ts";
import type { Console } from "../terminal/console.ts";
import type { ReportCommandOptions } from "./report.ts";

export function addReport(program: Command, console: Console, end: End): void {
  program
    .command("report")
    .description("evidence from receipts: who did what, when, by what authority, how it ended; only what was verified")
    .argument("<path>", "a receipt log, or a folder with receipts/")
    .addOption(
      new Option("--format <format>", "Markdown, JSON or CSV")
        .choices(["md", "json", "csv"])
        .default("md")
        .conflicts("json"),
    )
    .option("--out <file>", "write there, to a new file that only you may read, instead of standard output")
    .option("--allow-open <n>", "as with verify", wholeNumber)
    .option("--json", "the same as --format json")
    .addHelpText(
      "after",
      examples("toolspan report .toolspan", "toolspan report audit --format csv --out evidence.csv"),
    )
    .action(async (path: string, options: ReportCommandOptions) => {
      const { report } = await import("./report.ts");
      end(await report(console, path, options));
    });
}
