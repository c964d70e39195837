/** The command `prune`: removes logs whose time is over and which every endpoint has. */

import { ToolspanError } from "@toolspan/core";
import { type KeptReason, type PruneOptions, type PruneReport, pruneReceipts, stateRoot } from "@toolspan/receipts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { isFolder } from "../files/files.ts";
import type { Console } from "../terminal/console.ts";
import { count, counted } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";

export interface PruneCommandOptions {
  readonly olderThan?: string;
  readonly endpoint?: readonly string[];
  readonly dryRun?: true;
  readonly json?: true;
}

const REASONS: Readonly<Record<KeptReason, string>> = {
  not_expired: "not old enough",
  not_closed: "open: no closing line, and no later log vouches for it",
  not_verified: "it does not check out, or does not say its time; run verify",
  not_delivered: "not delivered to",
  dead_letters: "some of it lies in the dead-letter file of",
  vouches_for_another: "it alone vouches for a log that stays",
  says_what_was_pruned: "it says what was removed",
};
/** These stay as they should. */
const IN_ORDER: ReadonlySet<KeptReason> = new Set(["not_expired", "says_what_was_pruned"]);

/**
 * Prunes a state folder.
 *
 * @returns 0 when nothing past its time stays, 2 when something had to.
 * @throws CommandError where there is no such folder.
 */
export async function prune(
  console: Console,
  dir: string | undefined,
  options: PruneCommandOptions,
): Promise<ExitCode> {
  const folder = stateRoot(dir);
  if (!(await isFolder(folder))) throw new CommandError(`${folder}: no such folder`);
  const { olderThan, endpoint = [], dryRun = false } = options;
  const report = await pruned({
    ...(olderThan === undefined ? {} : { olderThan }),
    stateDir: folder,
    endpoints: endpoint,
    dryRun,
  });
  if (options.json) console.out.write(`${JSON.stringify({ ...report, dry_run: dryRun })}\n`);
  else for (const line of linesOf(report, dryRun)) console.out.write(`${terminalText(line)}\n`);
  return report.kept.every(({ reason }) => IN_ORDER.has(reason)) ? EXIT.ok : EXIT.unknown;
}

async function pruned(options: PruneOptions): Promise<PruneReport> {
  try {
    return await pruneReceipts(options);
  } catch (error) {
    // The options of this command are the library's: what it refuses was wrong usage.
    if (ToolspanError.is(error, "TOOLSPAN_INVALID_OPTION")) throw new CommandError(error.message);
    throw error;
  }
}

function linesOf({ pruned, kept, said }: PruneReport, dryRun: boolean): readonly string[] {
  const young = kept.filter(({ reason }) => reason === "not_expired").length;
  return [
    ...pruned.map(({ file, lines }) => `${dryRun ? "would remove" : "removed"} ${file} (${counted(lines, "line")})`),
    ...kept
      .filter(({ reason }) => reason !== "not_expired")
      .map(
        ({ file, reason, endpoint }) => `kept ${file}: ${REASONS[reason]}${endpoint === null ? "" : ` ${endpoint}`}`,
      ),
    `${counted(pruned.length, "log")} ${dryRun ? "to remove" : "removed"}, ${count(young)} not old enough, ${count(kept.length - young)} kept`,
    ...(said === null ? [] : [`said in ${said}`]),
  ];
}
