/** The command `prove`: writes the proof that one receipt stands in its log. */

import { writeFile } from "node:fs/promises";
import { proveDispatch, stateRoot } from "@toolspan/receipts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { exists } from "../files/files.ts";
import type { Console } from "../terminal/console.ts";
import { terminalText } from "../terminal/terminal-text.ts";

export interface ProveOptions {
  readonly dir?: string;
  readonly openings?: true;
  readonly out?: string;
  readonly json?: true;
}

const WHY = {
  not_found: "no receipt of this dispatch is here",
  no_head: "no head covers its receipt yet; one comes within 60 s, at flush and at close",
  damaged: "its log and the log's head disagree; see verify",
} as const;

/**
 * Proves one receipt.
 *
 * @returns 0 with the proof; 1 where log and head disagree; 2 where there is no such receipt, or no head over it.
 * @throws CommandError where there is no such folder.
 */
export async function prove(
  console: Console,
  dispatchId: string,
  { dir, openings, out, json }: ProveOptions,
): Promise<ExitCode> {
  const root = stateRoot(dir);
  if (!(await exists(root))) throw new CommandError(`${root}: no such file or folder`);
  const found = await proveDispatch(dispatchId, root, { openings: openings === true });
  if (found.made === null) {
    if (json) console.out.write(`${JSON.stringify({ proof: null, reason: found.reason })}\n`);
    else console.err.write(`toolspan: ${terminalText(dispatchId)}: ${WHY[found.reason]}\n`);
    return found.reason === "damaged" ? EXIT.failed : EXIT.unknown;
  }
  const text = `${JSON.stringify(found.made)}\n`;
  if (out === undefined) {
    console.out.write(text);
    return EXIT.ok;
  }
  // With openings it may hold arguments and result in clear.
  await writeFile(out, text, { mode: openings ? 0o600 : 0o666 });
  const { file, line, signed } = found;
  const said = json
    ? JSON.stringify({ out, file, line, signed })
    : terminalText(`${out}: line ${line} of ${file}, under ${signed ? "a signed" : "an unsigned"} head`);
  console.out.write(`${said}\n`);
  return EXIT.ok;
}
