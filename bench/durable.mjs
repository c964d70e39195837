// Row 15: durable appends of one log by 64 callers and by one, in wall time, beside a write and fdatasync for each line.
import { closeSync, fdatasync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { inFolder, logIn, oneReceipt } from "./append.mjs";
import { median } from "./measure.mjs";

const ROUNDS = 9;
const ROUND_MS = 300;
const CALLERS = 64;
const sync = promisify(fdatasync);

/** Lets `callers` callers do `operation` for a while, and answers with operations a second and the 99th percentile, ms. */
async function round(operation, callers) {
  const waits = [];
  const started = performance.now();
  const lane = async () => {
    while (performance.now() - started < ROUND_MS) {
      const before = performance.now();
      await operation();
      waits.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: callers }, lane));
  const seconds = (performance.now() - started) / 1000;
  waits.sort((a, b) => a - b);
  return { perSecond: waits.length / seconds, p99: waits[Math.floor(waits.length * 0.99)] };
}

/** Rounds of each subject in turn; the median over rounds of what `of` makes of a round's two results. */
async function compare(subject, baseline, figures) {
  await round(subject.operation, subject.callers);
  await round(baseline.operation, baseline.callers);
  const rounds = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    const results = {};
    const order = i % 2 === 0 ? [subject, baseline] : [baseline, subject];
    for (const one of order)
      results[one === subject ? "subject" : "baseline"] = await round(one.operation, one.callers);
    rounds.push(results);
  }
  return figures.map((of) => median(rounds.map(of)));
}

const rows = () =>
  inFolder(async (folder) => {
    const { receipt, draft } = await oneReceipt();
    const { outlet, sink } = logIn(folder);
    const line = `${JSON.stringify(receipt)}\n`;
    const bare = openSync(join(folder, "bare.jsonl"), "a");
    const durable = () => outlet.copy(draft).durable();
    const alone = async () => {
      writeSync(bare, line);
      fdatasyncSync(bare);
    };
    const pooled = async () => {
      writeSync(bare, line);
      await sync(bare);
    };
    const many = { operation: durable, callers: CALLERS };
    const [times, p99] = await compare(many, { operation: pooled, callers: 1 }, [
      ({ subject, baseline }) => subject.perSecond / baseline.perSecond,
      ({ subject, baseline }) => subject.p99 / baseline.p99,
    ]);
    const [cost] = await compare({ operation: durable, callers: 1 }, { operation: alone, callers: 1 }, [
      ({ subject, baseline }) => baseline.perSecond / subject.perSecond,
    ]);
    await sink.close();
    closeSync(bare);
    const row = { row: 15, subject: "durable append" };
    return [
      {
        ...row,
        variant: "64 callers",
        baseline: "fdatasync a line",
        unit: "times as many a second",
        target: 30,
        measured: times,
      },
      { ...row, variant: "64 callers, p99", baseline: "its p99", unit: "ratio of waits", target: 2.5, measured: p99 },
      {
        ...row,
        variant: "one caller",
        baseline: "write + fdatasync",
        unit: "ratio of time",
        target: 1.25,
        measured: cost,
      },
    ];
  });

export const cases = { all: rows };
