// Rows 10, 14 and 16: what a receipt costs in CPU time, beside hashing, a logger, a bare write, and a log without signatures.
import { hash } from "node:crypto";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher } from "@toolspan/core";
import { fileSigner, initSigningKey, localReceiptSink } from "@toolspan/receipts";
import pino from "pino";
import { measure, median, ratio } from "./measure.mjs";
import { payloads } from "./payloads.mjs";
import { callOf, receipts, repeat } from "./suite.mjs";

const { SyncedFile } = await import(new URL("../packages/receipts/dist/log/synced-file.js", import.meta.url));

/** Disks are not what these rows ask about, and a sample must not fill one. */
const SAMPLES = { sampleMs: 60 };
const MAX_OPS = 10_000;
const RECEIPTS_PER_HEAD = 1000;

/** A folder of its own for `act`, gone afterwards. */
export async function inFolder(act) {
  const folder = mkdtempSync(join(tmpdir(), "toolspan-bench-"));
  try {
    return await act(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A receipt of a small call, as it comes to a log, and as the object that others log. */
export async function oneReceipt() {
  let receipt;
  const log = receipts({ sink: (made) => void (receipt = made) });
  await createDispatcher([log])(callOf(payloads.small), async () => ({ ok: true }));
  const { audit, chain: _, duration_ms, ...rest } = receipt;
  return { receipt, draft: { ...rest, auditText: JSON.stringify(audit), durationText: String(duration_ms) } };
}

/** Where a sink of one session puts lines, less the check of receipts that were made elsewhere. */
export function logIn(stateDir, options = {}) {
  const sink = localReceiptSink("bench", { stateDir, signer: null, ...options });
  return { sink, outlet: sink[Symbol.for("toolspan.receipts.local")] };
}

async function besideHashing() {
  const { large } = payloads;
  const result = { ok: true, data: large };
  const dispatch = createDispatcher([receipts()]);
  const call = callOf(large);
  const name = "receipt of a call";
  const baseline = "2 × (JSON.stringify + crypto.hash)";
  const samples = await measure([
    {
      name: baseline,
      run: repeat(() => {
        hash("sha256", JSON.stringify(large));
        hash("sha256", JSON.stringify(result));
      }),
    },
    { name, run: repeat(() => dispatch(call, async () => result)) },
  ]);
  const measured = ratio(samples, name, baseline);
  return [{ row: 10, variant: "large", subject: name, baseline, unit: "ratio", target: 1.2, measured }];
}

/** How many times as many appends a CPU second holds. */
const times = (samples, subject, baseline) =>
  median(samples.get(baseline).map((ns, round) => ns / samples.get(subject)[round]));

const besideOthers = () =>
  inFolder(async (folder) => {
    const { receipt, draft } = await oneReceipt();
    const { outlet, sink } = logIn(folder);
    const ready = JSON.stringify(receipt);
    const line = `${ready}\n`;
    // What a log hands its lines to: hashes each, and writes them 64 KiB at a time.
    const path = join(folder, "ready.jsonl");
    const file = new SyncedFile(openSync(path, "ax"), path, { written() {}, failed() {}, quiet() {} });
    const bare = openSync(join(folder, "bare.jsonl"), "a");
    const modes = [
      { minLength: 4096, sync: false },
      { minLength: 4096, sync: true },
      { minLength: 65_536, maxWrite: 131_072, sync: false },
    ];
    const loggers = modes.map((mode, i) => {
      const destination = pino.destination({ dest: join(folder, `pino-${i}.jsonl`), ...mode });
      return { name: `pino ${i}`, destination, logger: pino({ base: null, timestamp: false }, destination) };
    });
    const samples = await measure(
      [
        { name: "append", maxOps: MAX_OPS, run: repeat(() => void outlet.copy(draft)) },
        { name: "ready lines", maxOps: MAX_OPS, run: repeat(() => void file.push(ready)) },
        { name: "writeSync a line", maxOps: MAX_OPS, run: repeat(() => void writeSync(bare, line)) },
        ...loggers.map(({ name, destination, logger }) => ({
          name,
          maxOps: MAX_OPS,
          run: repeat(() => logger.info(receipt)),
          drain: () => new Promise((done) => destination.flush(done)),
        })),
      ],
      SAMPLES,
    );
    await sink.close();
    await file.sync();
    file.close();
    closeSync(bare);
    for (const { destination } of loggers) destination.end();
    const rows = [
      [
        `best pino mode of ${loggers.length}`,
        6,
        (subject) => Math.min(...loggers.map(({ name }) => times(samples, subject, name))),
      ],
      ["writeSync a line", 3, (subject) => times(samples, subject, "writeSync a line")],
    ];
    return ["ready lines", "append"].flatMap((subject) =>
      rows.map(([baseline, target, of]) => {
        const variant = subject === "append" ? "buffered, made and chained" : "buffered, line built";
        return { row: 14, variant, subject, baseline, unit: "times as many", target, measured: of(subject) };
      }),
    );
  });

const besideUnsigned = () =>
  inFolder(async (folder) => {
    const { draft } = await oneReceipt();
    initSigningKey(join(folder, "signing.pem"), "bench");
    const subjectOf = (name, signer) => {
      const { outlet, sink } = logIn(join(folder, name), { signer });
      const run = repeat(async () => {
        for (let i = 0; i < RECEIPTS_PER_HEAD; i += 1) outlet.copy(draft);
        await sink.flush();
      });
      return { name, maxOps: 20, run, close: () => sink.close() };
    };
    const [signed, unsigned] = ["signed heads", "unsigned heads"];
    const subjects = [subjectOf(unsigned, null), subjectOf(signed, fileSigner(join(folder, "signing.pem")))];
    const samples = await measure(subjects, SAMPLES);
    for (const { close } of subjects) await close();
    const measured = ratio(samples, signed, unsigned);
    const variant = `a flush each ${RECEIPTS_PER_HEAD} receipts`;
    return [{ row: 16, variant, subject: signed, baseline: unsigned, unit: "ratio", target: 1.05, measured }];
  });

export const cases = { hashing: besideHashing, buffered: besideOthers, signed: besideUnsigned };
