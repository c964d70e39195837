/** The command `show`: one conversation, or what one file holds, drawn as a waterfall. */

import { join } from "node:path";
import { stateRoot } from "@toolspan/receipts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { isRegularFile, jsonlFiles } from "../files/files.ts";
import { type FoundReceipts, findReceipts } from "../report/find-receipts.ts";
import { receiptTable } from "../report/receipt-table.ts";
import type { Console } from "../terminal/console.ts";
import { counted, duration } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import { type FoundTraces, findTraces } from "./find-traces.ts";
import { toShownJson } from "./show-json.ts";
import { msBetween, toSpanTrees } from "./span-tree.ts";
import { waterfall } from "./waterfall.ts";

export interface ShowOptions {
  readonly out?: string;
  readonly json?: true;
}

/** What was found for one subject. */
export interface Shown {
  readonly traces: FoundTraces;
  readonly receipts: FoundReceipts;
}

/** More than a screenful of traces helps nobody; the latest are shown. */
const MAX_TRACES = 20;
const MAX_RECEIPTS = 1000;

/**
 * Draws a conversation's traces, or those in a file; where there are receipts but no spans, their table.
 *
 * @param subject Path of a file, else a session id that is looked up in the state folder.
 * @throws CommandError where nothing is found.
 */
export async function show(console: Console, subject: string, options: ShowOptions): Promise<ExitCode> {
  const shown = (await isRegularFile(subject)) ? await inFile(subject) : await inFolder(subject, options.out);
  if (options.json) console.out.write(`${JSON.stringify(toShownJson(shown), null, 2)}\n`);
  else draw(console, shown);
  return EXIT.ok;
}

async function inFile(path: string): Promise<Shown> {
  const traces = await findTraces([path], undefined, MAX_TRACES);
  const receipts = await findReceipts([path], undefined, MAX_RECEIPTS);
  if (traces.traces.length === 0 && receipts.total === 0) {
    throw new CommandError(`${path}: holds neither spans nor receipts`, EXIT.unknown);
  }
  return { traces, receipts };
}

async function inFolder(sessionId: string, out: string | undefined): Promise<Shown> {
  const folder = stateRoot(out);
  const traces = await findTraces(await jsonlFiles(join(folder, "spans")), sessionId, MAX_TRACES);
  const receipts = await findReceipts(await jsonlFiles(join(folder, "receipts")), sessionId, MAX_RECEIPTS);
  if (traces.traces.length === 0 && receipts.total === 0) {
    throw new CommandError(`${sessionId}: no such file, and no session of that id in ${folder}`);
  }
  return { traces, receipts };
}

function draw({ out }: Console, { traces, receipts }: Shown): void {
  const { paint, columns } = out;
  const write = (line: string): void => out.write(`${line}\n`);
  if (traces.omitted > 0) write(`${counted(traces.omitted, "earlier trace")} not shown`);
  for (const { traceId, sessionId, spans } of traces.traces) {
    const trees = toSpanTrees(spans);
    const took = trees.reduce((sum, { span }) => sum + msBetween(span.startedAt, span.endedAt), 0);
    const title = sessionId === null ? `trace ${traceId}` : `${sessionId} · trace ${traceId}`;
    write(`${paint.strong(terminalText(title))} · ${counted(spans.length, "span")} · ${duration(took)}`);
    for (const line of waterfall(trees, columns, paint)) write(line);
    write("");
  }
  if (receipts.total === 0) return;
  write(`${counted(receipts.total, "receipt")} in ${receipts.logs.map(terminalText).join(", ")}`);
  if (traces.traces.length > 0) return;
  const earlier = receipts.total - receipts.receipts.length;
  if (earlier > 0) write(`${counted(earlier, "earlier one")} not shown`);
  for (const line of receiptTable(receipts.receipts, paint)) write(line);
}
