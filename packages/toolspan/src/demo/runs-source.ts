/** Where recorded runs come from: the file that comes with the command, another file, a pipe, or standard input. */

import { createReadStream } from "node:fs";
import { access, constants } from "node:fs/promises";
import type { Readable } from "node:stream";
import { CommandError, systemProblem } from "../command-error.ts";
import { EXIT } from "../exit-code.ts";
import { isFolder, isRegularFile, sizeOf } from "../files/files.ts";
import { hasMoreLinesThan } from "../files/read-lines.ts";
import type { RecordedAgent } from "./replay-runs.ts";
import { SHIPPED_AGENT, SHIPPED_RUNS, UNKNOWN_AGENT } from "./shipped-runs.ts";

export interface RunsSource {
  /** As messages name it. */
  readonly name: string;
  readonly agent: RecordedAgent;
  readonly stream: Readable;
  /** Bytes in all; 0 where nobody knows. */
  readonly size: number;
  /** Bytes that have been read; meaningful where the size is known. */
  bytesRead(): number;
}

/** Standard input, by the name that it has in other commands. */
const STDIN = "-";

/**
 * Opens a source of recorded runs.
 *
 * @param runs A path, `-` for standard input, or undefined for the runs that come with the command.
 * @throws CommandError where it cannot be read.
 */
export async function openRuns(runs: string | undefined): Promise<RunsSource> {
  const agent = runs === undefined ? SHIPPED_AGENT : UNKNOWN_AGENT;
  if (runs === STDIN) return { name: "standard input", agent, stream: process.stdin, size: 0, bytesRead: () => 0 };
  const path = runs ?? SHIPPED_RUNS;
  await assertReadable(path);
  const stream = createReadStream(path);
  return { name: path, agent, stream, size: await sizeOf(path), bytesRead: () => stream.bytesRead };
}

/** True where there are, or may be, more runs than that: a pipe can be read only once, so nobody looks ahead. */
export async function mayHaveMoreRunsThan(limit: number, runs: string | undefined): Promise<boolean> {
  const path = runs ?? SHIPPED_RUNS;
  if (runs === STDIN || !(await isRegularFile(path))) return true;
  return hasMoreLinesThan(path, limit);
}

async function assertReadable(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK);
  } catch (error) {
    throw new CommandError(systemProblem(error) ?? `${path}: cannot be read`, EXIT.usage, { cause: error });
  }
  if (await isFolder(path)) throw new CommandError(`${path}: is a folder; --runs takes a file`);
}
