/** Threads that examine lines, this one among them: it takes what no other has begun. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { type ExamineAnswer, type Examined, type ExamineJob, examineRange } from "./examine-worker.ts";
import { takeFreeRooms } from "./line-room.ts";
import type { LineRange } from "./pack-lines.ts";

/** Stretches of logs, and what came of them. */
export interface LineJob {
  readonly id: number;
  readonly ranges: readonly LineRange[];
  /** Null until it is done. */
  examined: readonly Examined[] | null;
}

/** So many jobs wait at each thread, so that it need not wait for this one. */
const AHEAD = 2;
/** Threads come from built code: sources have another ending. */
const FILE = new URL("./examine-worker.js", import.meta.url);
const BUILT: boolean = import.meta.url.endsWith(".js");
/** The process may have been started with words that a thread refuses, as `--input-type`; it needs none of them. Lines are garbage as soon as they are packed: a small nursery keeps memory bounded. */
const LIMITS = { maxYoungGenerationSizeMb: 2, stackSizeMb: 1 };

interface Thread {
  readonly worker: Worker;
  /** Jobs that it has, by id. */
  readonly jobs: Map<number, LineJob>;
}

export class LineWorkers {
  /** How many jobs should be under way or waiting. */
  readonly window: number;
  readonly #threads: Thread[] = [];
  #waiting: LineJob[] = [];
  #nextId = 0;
  #changed: { readonly promise: Promise<void>; readonly resolve: () => void } = deferred();

  /** @param count Threads, this one counted. */
  constructor(count: number) {
    for (let i = 1; i < count && BUILT; i++) this.#start();
    this.window = AHEAD * count + 1;
  }

  submit(ranges: readonly LineRange[]): LineJob {
    const job: LineJob = { id: this.#nextId++, ranges, examined: ranges.length === 0 ? [] : null };
    if (job.examined === null) this.#waiting.push(job);
    this.#give();
    return job;
  }

  /** What came of a job; meanwhile this thread does what waits. */
  async result(job: LineJob): Promise<readonly Examined[]> {
    for (;;) {
      await nextTurn(); // answers of threads come between turns
      if (job.examined !== null) return job.examined;
      const next = this.#waiting.includes(job) ? job : this.#waiting[0];
      if (next === undefined) await this.#changed.promise;
      else {
        this.#waiting = this.#waiting.filter((each) => each !== next);
        next.examined = next.ranges.map(examineRange);
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }

  #start(): void {
    const thread: Thread = { worker: new Worker(FILE, { resourceLimits: LIMITS, execArgv: [] }), jobs: new Map() };
    thread.worker.on("message", ({ id, examined }: ExamineAnswer) => {
      const job = thread.jobs.get(id);
      if (job !== undefined) job.examined = examined;
      thread.jobs.delete(id);
      this.#give();
      this.#wake();
    });
    thread.worker.on("error", () => this.#lose(thread));
    thread.worker.on("exit", () => this.#lose(thread));
    this.#threads.push(thread);
  }

  /** What a thread did not finish is done by another. */
  #lose(thread: Thread): void {
    this.#waiting.unshift(...thread.jobs.values());
    thread.jobs.clear();
    const at = this.#threads.indexOf(thread);
    if (at !== -1) this.#threads.splice(at, 1);
    this.#give();
    this.#wake();
  }

  #give(): void {
    for (const { worker, jobs } of this.#threads) {
      while (jobs.size < AHEAD) {
        const job = this.#waiting.shift();
        if (job === undefined) return;
        jobs.set(job.id, job);
        const rooms = takeFreeRooms(job.ranges.length);
        const message: ExamineJob = { id: job.id, ranges: job.ranges, rooms };
        worker.postMessage(message, rooms);
      }
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = deferred();
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
