/** The command `demo`: replays recorded runs through the loop and shows what every tool call left behind. */

import { join } from "node:path";
import { stateRoot } from "@toolspan/receipts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { jsonlFiles } from "../files/files.ts";
import { readBackReceipts, readBackSpans, type SpansOnDisk } from "../show/read-back.ts";
import type { Console } from "../terminal/console.ts";
import { progressBar } from "../terminal/progress-bar.ts";
import { counted } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import { watchYoungGeneration } from "../young-generation.ts";
import { countsAgree, type DemoReport, demoJson, printDemo } from "./demo-report.ts";
import { type DemoStack, makeDemoStack } from "./demo-stack.ts";
import { type ReplayTally, replayRuns } from "./replay-runs.ts";
import { mayHaveMoreRunsThan, openRuns, type RunsSource } from "./runs-source.ts";

export interface DemoOptions {
  readonly runs?: string;
  readonly out?: string;
  readonly json?: true;
}

/** As many logs as a process keeps open; beyond it, one log holds all sessions. */
const MAX_SESSION_LOGS = 256;
const MAX_TROUBLES_SAID = 20;
/** Room for new objects, both halves together. The demo is no slower with it; Node 24 by itself goes on to 96 MB. */
const YOUNG_BYTES = 8 * 1024 * 1024;
const NO_SPANS: SpansOnDisk = { dispatches: 0, traced: [] };

/**
 * Replays every run of a file through the demo's stack, reads the three counts back from disk and reports them.
 *
 * @throws CommandError where the file cannot be read; TOOLSPAN_RECEIPT_STORE where the folder cannot be written.
 */
export async function demo(console: Console, options: DemoOptions): Promise<ExitCode> {
  const folder = stateRoot(options.out);
  const oneLog = await mayHaveMoreRunsThan(MAX_SESSION_LOGS, options.runs);
  const source = await openRuns(options.runs);
  const former = new Set(await receiptLogs(folder));
  const stack = makeDemoStack(folder, oneLog);
  if (!options.json) console.out.write(`toolspan demo: recorded runs, every tool call through\n  ${stack.listed}\n\n`);

  const stop = stopOnInterrupt();
  const startedMs = performance.now();
  const tally = await replay(console, source, stack, stop.signal);
  await stack.close();
  stop.release();
  const elapsedMs = performance.now() - startedMs;

  const receipts = await readBackReceipts((await receiptLogs(folder)).filter((log) => !former.has(log)));
  const spansFile = stack.spansFile();
  const spans = spansFile === null ? NO_SPANS : await readBackSpans(spansFile, receipts.sample?.traceId);
  const report: DemoReport = { folder, stack: stack.listed, tally, spans, spansFile, receipts, elapsedMs };
  if (options.json) console.out.write(`${JSON.stringify(demoJson(report))}\n`);
  else printDemo(console.out, report);
  if (stop.signal.aborted) return EXIT.interrupted;
  const whole = countsAgree(report) && tally.malformedLines === 0 && tally.brokenRuns === 0;
  return whole ? EXIT.ok : EXIT.failed;
}

async function replay(
  console: Console,
  source: RunsSource,
  stack: DemoStack,
  signal: AbortSignal,
): Promise<ReplayTally> {
  const bar = progressBar(console.err, "replaying", source.size);
  const boundMemory = watchYoungGeneration(YOUNG_BYTES);
  let troubles = 0;
  const tally = await replayRuns({
    source: source.stream,
    agent: source.agent,
    dispatcher: stack.dispatcher,
    concurrency: stack.concurrency,
    signal,
    onTrouble(line, message) {
      troubles += 1;
      if (troubles > MAX_TROUBLES_SAID) return;
      bar.clear();
      console.err.write(`toolspan demo: ${terminalText(`${source.name}:${line}: ${message}`)}\n`);
    },
    onProgress({ runs, dispatches }) {
      boundMemory();
      bar.update(source.bytesRead(), `${counted(runs, "run")}, ${counted(dispatches, "tool call")}`);
    },
  });
  bar.clear();
  const unsaid = troubles - MAX_TROUBLES_SAID;
  if (unsaid > 0) console.err.write(`toolspan demo: and ${counted(unsaid, "line")} more like these\n`);
  return tally;
}

function receiptLogs(folder: string): Promise<readonly string[]> {
  return jsonlFiles(join(folder, "receipts"));
}

interface Stop {
  readonly signal: AbortSignal;
  readonly release: () => void;
}

/** The first interrupt ends reading, so that what runs is finished and every log closed; the second ends the process. */
function stopOnInterrupt(): Stop {
  const controller = new AbortController();
  const onInterrupt = (): void => controller.abort();
  process.once("SIGINT", onInterrupt);
  return { signal: controller.signal, release: () => void process.off("SIGINT", onInterrupt) };
}
