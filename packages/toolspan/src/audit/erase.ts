/** The command `erase`: destroys what opens one subject's commitments, and says what that does not reach. */

import { eraseSubject, stateRoot } from "@toolspan/receipts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { isFolder } from "../files/files.ts";
import type { Console } from "../terminal/console.ts";
import { counted } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";

export interface EraseCommandOptions {
  readonly subject: string;
  readonly dir?: string;
  readonly reason?: string;
  readonly json?: true;
}

/** What an erasure here cannot reach. */
const NOT_COVERED: readonly string[] = [
  "backups and other copies of the folder openings/",
  "receipts that were hashed in another mode, and what other programs keep of the calls",
  "blocks that the file system or the disk has not overwritten yet",
];

/**
 * Erases a subject's openings in a state folder.
 *
 * @returns 0 when openings were destroyed and the log says so, 2 where there were none.
 * @throws CommandError where there is no such folder.
 */
export async function erase(console: Console, options: EraseCommandOptions): Promise<ExitCode> {
  const folder = stateRoot(options.dir);
  if (!(await isFolder(folder))) throw new CommandError(`${folder}: no such folder`);
  const { subject, reason, json } = options;
  const { openings, line } = await eraseSubject(subject, {
    stateDir: folder,
    ...(reason === undefined ? {} : { reason }),
  });
  if (json) console.out.write(`${JSON.stringify({ openings, line, not_covered: NOT_COVERED })}\n`);
  else if (line === null) console.out.write(`no openings of this subject in ${terminalText(folder)}\n`);
  else for (const text of erasedLines(openings, line)) console.out.write(`${text}\n`);
  return line === null ? EXIT.unknown : EXIT.ok;
}

function erasedLines(openings: number, line: string): readonly string[] {
  return [
    `${counted(openings, "opening")} destroyed; the hashes stay, and nobody can open or guess them any more`,
    `said in ${terminalText(line)}`,
    "",
    "Not covered:",
    ...NOT_COVERED.map((text) => `  ${text}`),
  ];
}
