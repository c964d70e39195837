/** Replays recorded conversations from a file through one dispatcher, several at a time, in bounded memory. */

import type { Readable } from "node:stream";
import { createAgent, readTranscripts, replayTranscript, type Transcript, type TranscriptLine } from "@toolspan/agent";
import type { Dispatcher } from "@toolspan/core";
import { eachInFlight } from "../show/in-flight.ts";

/** What kind of agent the recording is of, as spans and receipts name it. */
export interface RecordedAgent {
  readonly agentName: string;
  readonly model: string;
  readonly provider?: string;
}

export interface ReplayOptions {
  /** The conversations, JSONL. */
  readonly source: Readable;
  readonly agent: RecordedAgent;
  readonly dispatcher: Dispatcher;
  /** Runs at the same time, integer >= 1. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Hears of every line that could not be replayed. */
  readonly onTrouble: (line: number, message: string) => void;
  /** Hears of every finished run. */
  readonly onProgress: (tally: ReplayTally) => void;
}

/** What was replayed so far. */
export interface ReplayTally {
  readonly runs: number;
  readonly dispatches: number;
  /** Dispatches that did not end `ok`. */
  readonly failedTools: number;
  /** Lines that hold no conversation. */
  readonly malformedLines: number;
  /** Runs that did not come to the end of their recording. */
  readonly brokenRuns: number;
}

/**
 * Replays every conversation of a JSONL source; a malformed line is told and the others still run.
 *
 * @throws What reading the source throws.
 */
export async function replayRuns(options: ReplayOptions): Promise<ReplayTally> {
  const { source, concurrency, signal, onTrouble, onProgress } = options;
  const tally = { runs: 0, dispatches: 0, failedTools: 0, malformedLines: 0, brokenRuns: 0 };
  signal.addEventListener("abort", () => source.destroy(), { once: true });
  await eachInFlight(until(signal, readTranscripts(source)), concurrency, async (read: TranscriptLine) => {
    if (read.error !== undefined) {
      tally.malformedLines += 1;
      onTrouble(read.line, read.error.message);
      return;
    }
    const problem = await replayOne(options, read.run, read.line, tally);
    if (problem !== undefined) {
      tally.brokenRuns += 1;
      onTrouble(read.line, problem);
    }
    onProgress(tally);
  });
  return tally;
}

/** The items until somebody says stop; what the source throws about being stopped is no failure. */
async function* until<T>(signal: AbortSignal, items: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  try {
    for await (const item of items) {
      if (signal.aborted) return;
      yield item;
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}

interface Counts {
  runs: number;
  dispatches: number;
  failedTools: number;
}

/** One conversation as one run; says in words why it did not come to its end. */
async function replayOne(
  { agent, dispatcher }: ReplayOptions,
  transcript: Transcript,
  line: number,
  tally: Counts,
): Promise<string | undefined> {
  const replay = replayTranscript(transcript, agent);
  const { model, tools, modelCalls, toolCalls } = replay;
  const limits = { maxModelCalls: Math.max(1, modelCalls), maxToolCalls: toolCalls };
  const player = createAgent({ name: agent.agentName, model, tools, dispatcher, limits });
  tally.runs += 1;
  try {
    const result = await player.run(replay.input, { sessionId: transcript.id ?? `line-${line}` });
    tally.dispatches += result.toolCalls;
    tally.failedTools += result.failedToolCalls;
    return result.stopReason === "end" ? undefined : `the run ended early: ${result.stopReason}`;
  } catch (thrown) {
    return `the run threw: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}
