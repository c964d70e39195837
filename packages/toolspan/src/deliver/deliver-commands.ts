/** How `export` and `prune` are described. */

import { type Command, Option } from "commander";
import { collected, type End, examples, JSON_OPTION, seconds } from "../command-words.ts";
import type { Console } from "../terminal/console.ts";
import type { ExportCommandOptions } from "./export.ts";
import type { PruneCommandOptions } from "./prune.ts";

export function addExport(program: Command, console: Console, end: End): void {
  program
    .command("export")
    .description(
      "deliver receipts and heads, or spans, to an OTLP endpoint: each line as it stands, at least once, in order",
    )
    .argument(
      "[dir]",
      "state folder, with --spans also a file of spans (default: TOOLSPAN_STATE_DIR, else .toolspan of this project)",
    )
    .option(
      "--endpoint <url>",
      "OTLP/HTTP address, /v1/logs or /v1/traces is added (default: TOOLSPAN_RECEIPTS_OTLP_ENDPOINT, for spans OTEL_EXPORTER_OTLP_ENDPOINT)",
    )
    .addOption(
      new Option("--spans", "replay the folder's spans, in place of its receipts").conflicts([
        "outside",
        "follow",
        "deadLetters",
      ]),
    )
    .option("--header <key=value>", "sent with each request; may be given again", collected)
    .option("--outside", "nobody on this host can change what arrived there: signed heads count as anchored")
    .option("--follow", "go on until SIGINT or SIGTERM")
    .option("--patience <seconds>", "give up when nothing was answered for so long (default: 60)", seconds)
    .option("--dead-letters", "send what the endpoint has refused before, in place of what is new")
    .option("--json", JSON_OPTION)
    .addHelpText(
      "after",
      examples(
        "toolspan export --endpoint http://collector:4319",
        "toolspan export audit --endpoint https://audit.example.com --header authorization=… --outside --follow",
        "toolspan export --dead-letters",
        "toolspan export audit --spans --endpoint http://collector:4318",
      ),
    )
    .action(async (dir: string | undefined, options: ExportCommandOptions) => {
      if (options.spans) {
        const { replaySpans } = await import("./replay-spans.ts");
        return end(await replaySpans(console, dir, options));
      }
      const { exportCommand } = await import("./export.ts");
      end(await exportCommand(console, dir, options));
    });
}

export function addPrune(program: Command, console: Console, end: End): void {
  program
    .command("prune")
    .description("remove whole receipt logs that are past their time and delivered; a line and their heads stay")
    .argument("[dir]", "state folder (default: TOOLSPAN_STATE_DIR, else .toolspan of this project)")
    .option(
      "--older-than <time>",
      "how old the latest line of a log has to be: 180d, 12h (default, and the least: TOOLSPAN_RETENTION)",
    )
    .option(
      "--endpoint <url>",
      "has to have it, beside all that were delivered to from here; may be given again",
      collected,
    )
    .option("--dry-run", "say what would be removed, and remove nothing")
    .option("--json", JSON_OPTION)
    .addHelpText(
      "after",
      examples("toolspan prune --older-than 180d", "toolspan prune audit --older-than 400d --dry-run"),
    )
    .action(async (dir: string | undefined, options: PruneCommandOptions) => {
      const { prune } = await import("./prune.ts");
      end(await prune(console, dir, options));
    });
}
