/** How `verify`, `prove`, `keys` and `erase` are described. */

import type { Command } from "commander";
import { collected, type End, examples, JSON_OPTION, wholeNumber } from "../command-words.ts";
import type { Console } from "../terminal/console.ts";
import type { EraseCommandOptions } from "./erase.ts";
import type { KeysOptions } from "./keys.ts";
import type { ProveOptions } from "./prove.ts";
import type { VerifyCommandOptions } from "./verify.ts";

export function addVerify(program: Command, console: Console, end: End): void {
  program
    .command("verify")
    .description("check receipts: the chain of each log, its heads, and the spans beside it")
    .argument("[path]", "a receipt log, or a folder with receipts/ (and spans/)")
    .option(
      "--allow-open <n>",
      "accept logs without a closing line, and up to n lines beyond the last head",
      wholeNumber,
    )
    .option("--strict", "derive every line again with a second, independent implementation")
    .option("--trust <key|file>", "verifier key, or file of one or of a policy: answer who wrote it, too")
    .option(
      "--anchors <file>",
      "heads that were kept elsewhere: checkpoint texts or the Collector's file of log records; may be given again",
      collected,
    )
    .option("--jobs <n>", "threads that share the work on large logs (default: 2)", wholeNumber)
    .option("--proof <file>", "in place of a path: a proof that prove has made")
    .option("--json", JSON_OPTION)
    .addHelpText(
      "after",
      examples(
        "toolspan verify .toolspan",
        "toolspan verify audit --trust policy.json --strict --json",
        "toolspan verify audit --trust policy.json --anchors heads.jsonl",
        "toolspan verify --proof receipt.json --trust policy.json",
      ),
    )
    .action(async (path: string | undefined, options: VerifyCommandOptions) => {
      const { verify } = await import("./verify.ts");
      end(await verify(console, path, options));
    });
}

export function addProve(program: Command, console: Console, end: End): void {
  program
    .command("prove")
    .description("take one receipt out of a log, with the proof that it stands there")
    .argument("<dispatch id>", "the receipt's dispatch_id, as in its receipt_uri")
    .option("--dir <dir>", "state folder (default: TOOLSPAN_STATE_DIR, else .toolspan of this project)")
    .option("--openings", "disclose what opens its commitments, as far as it is kept")
    .option("--out <file>", "where the proof goes (default: standard output)")
    .option("--json", JSON_OPTION)
    .addHelpText(
      "after",
      examples("toolspan prove 01a22ce3-9e37-7faf-b478-879052c44679 --dir audit --out receipt.json"),
    )
    .action(async (dispatchId: string, options: ProveOptions) => {
      const { prove } = await import("./prove.ts");
      end(await prove(console, dispatchId, options));
    });
}

export function addKeys(program: Command, console: Console, end: End): void {
  program
    .command("keys")
    .description("make, show or change the key that signs the heads of receipt logs")
    .argument("<init|show|rotate>", "init makes it, show prints its public half, rotate puts a new one in its place")
    .option("--key <file>", "the key's file (default: TOOLSPAN_SIGNING_KEY)")
    .option("--name <installation>", "init: how the key is named to those who verify (default: random)")
    .option("--dir <dir>", "rotate: state folder whose logs may be open under the old key (default: as with prove)")
    .option("--force", "rotate: destroy the old key although logs are open; finish a rotation that died")
    .option("--json", JSON_OPTION)
    .addHelpText(
      "after",
      examples("toolspan keys init --key /etc/agent/signing.pem --name agent-7", "toolspan keys rotate"),
    )
    .action(async (what: string, options: KeysOptions) => {
      const { keys } = await import("./keys.ts");
      end(await keys(console, what, options));
    });
}

export function addErase(program: Command, console: Console, end: End): void {
  program
    .command("erase")
    .description("destroy what opens one subject's hashes (mode commit-sha256), and say so in the log; backups stay")
    .requiredOption(
      "--subject <subject>",
      "as the option subject of withAuditLog names it; a session id where it has none",
    )
    .option("--dir <dir>", "state folder (default: TOOLSPAN_STATE_DIR, else .toolspan of this project)")
    .option("--reason <text>", "stands in the log; it should not name the subject")
    .option("--json", JSON_OPTION)
    .addHelpText(
      "after",
      examples("toolspan erase --subject user-7", "toolspan erase --subject user-7 --dir audit --json"),
    )
    .action(async (options: EraseCommandOptions) => {
      const { erase } = await import("./erase.ts");
      end(await erase(console, options));
    });
}
