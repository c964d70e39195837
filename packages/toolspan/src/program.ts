/** The words that the command understands: commands, options, examples, exit codes. */

import { readFileSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import type { EraseCommandOptions } from "./audit/erase.ts";
import type { KeysOptions } from "./audit/keys.ts";
import type { ProveOptions } from "./audit/prove.ts";
import type { VerifyCommandOptions } from "./audit/verify.ts";
import type { ExportCommandOptions } from "./deliver/export.ts";
import type { PruneCommandOptions } from "./deliver/prune.ts";
import type { DemoOptions } from "./demo/demo.ts";
import type { DoctorOptions } from "./doctor/doctor.ts";
import type { ExitCode } from "./exit-code.ts";
import type { ReportCommandOptions } from "./report/report.ts";
import type { ShowOptions } from "./show/show.ts";
import type { StackOptions } from "./stack.ts";
import type { Console } from "./terminal/console.ts";
import { terminalText } from "./terminal/terminal-text.ts";

type End = (code: ExitCode) => void;

const JSON_OPTION = "print one JSON object and nothing else";

const EXIT_CODES = `
Exit codes:
  0   what was asked holds
  1   damage, a contradiction, a bad order of layers, or a run that could not be replayed
  2   cannot say: nothing there, no closing line, a log that is still written
  64  wrong usage
  70  a fault of the command itself`;

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

// Each command is loaded when it is asked for: help and errors of usage do not wait for an SDK.

function addDemo(program: Command, console: Console, end: End): void {
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
      const { demo } = await import("./demo/demo.ts");
      end(await demo(console, options));
    });
}

function addVerify(program: Command, console: Console, end: End): void {
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
      oneMore,
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
      const { verify } = await import("./audit/verify.ts");
      end(await verify(console, path, options));
    });
}

function addProve(program: Command, console: Console, end: End): void {
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
      const { prove } = await import("./audit/prove.ts");
      end(await prove(console, dispatchId, options));
    });
}

function addKeys(program: Command, console: Console, end: End): void {
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
      const { keys } = await import("./audit/keys.ts");
      end(await keys(console, what, options));
    });
}

function addShow(program: Command, console: Console, end: End): void {
  program
    .command("show")
    .description("draw a run as a waterfall: every layer of every tool call, when, for how long, and how it ended")
    .argument("<session|file>", "a conversation's id, or a file of spans or receipts")
    .option("--out <dir>", "where to look for a session (default: as with demo)")
    .option("--json", JSON_OPTION)
    .addHelpText("after", examples("toolspan show airline-15-0", "toolspan show audit/receipts/airline-15-0.jsonl"))
    .action(async (subject: string, options: ShowOptions) => {
      const { show } = await import("./show/show.ts");
      end(await show(console, subject, options));
    });
}

function addReport(program: Command, console: Console, end: End): void {
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
      const { report } = await import("./report/report.ts");
      end(await report(console, path, options));
    });
}

function addErase(program: Command, console: Console, end: End): void {
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
      const { erase } = await import("./audit/erase.ts");
      end(await erase(console, options));
    });
}

function addExport(program: Command, console: Console, end: End): void {
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
        const { replaySpans } = await import("./deliver/replay-spans.ts");
        return end(await replaySpans(console, dir, options));
      }
      const { exportCommand } = await import("./deliver/export.ts");
      end(await exportCommand(console, dir, options));
    });
}

function addPrune(program: Command, console: Console, end: End): void {
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
      const { prune } = await import("./deliver/prune.ts");
      end(await prune(console, dir, options));
    });
}

function addStack(program: Command, console: Console, end: End): void {
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

function addDoctor(program: Command, console: Console, end: End): void {
  program
    .command("doctor")
    .description("look at what telemetry and receipts need: API copies, provider, collector, folder, disk, clock")
    .argument("[module]", "a module that sets up telemetry; it is run in a process of its own to be asked")
    .option("--endpoint <url>", "OTLP/HTTP address to try (default: OTEL_EXPORTER_OTLP_ENDPOINT)")
    .option("--dir <dir>", "state folder (default: TOOLSPAN_STATE_DIR, else .toolspan of this project)")
    .option("--timeout <seconds>", "longest wait for an endpoint (default: 2)", seconds)
    .option("--json", JSON_OPTION)
    .addHelpText(
      "after",
      examples("toolspan doctor", "toolspan doctor dist/telemetry.js --endpoint http://collector:4318 --json"),
    )
    .action(async (module: string | undefined, options: DoctorOptions) => {
      const { doctor } = await import("./doctor/doctor.ts");
      end(await doctor(console, module, options));
    });
}

function examples(...lines: readonly string[]): string {
  return ["", "Examples:", ...lines.map((line) => `  ${line}`), EXIT_CODES].join("\n");
}

function collected(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function seconds(text: string): number {
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("Expected a number of seconds, such as 30 or 0.5.");
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number, such as 0 or 100.");
}

/** Collects the values of an option that may be given again. */
function oneMore(value: string, former: readonly string[] = []): readonly string[] {
  return [...former, value];
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
