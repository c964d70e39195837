// The story of a delivery that meets with everything: an endpoint that is away and back, senders that are killed, writers that go on.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { createDispatcher } from "@toolspan/core";
import { withAuditLog } from "@toolspan/receipts";
import { onTestFinished } from "vitest";
import { BIN, cleanEnvironment, toolspan } from "./command.ts";

/** A program that says one line after the other, and is gone with the test. */
export class Program {
  readonly child: ChildProcess;
  readonly #lines: Interface;
  readonly #said: string[] = [];
  #heard: () => void = () => {};
  #ended = false;

  constructor(words: readonly string[]) {
    this.child = spawn(process.execPath, words, { env: cleanEnvironment(), stdio: ["ignore", "pipe", "pipe"] });
    this.#lines = createInterface({ input: this.child.stdout as NodeJS.ReadableStream });
    this.#lines.on("line", (line) => {
      this.#said.push(line);
      this.#heard();
    });
    this.#lines.on("close", () => {
      this.#ended = true;
      this.#heard();
    });
    this.child.stderr?.resume();
    onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  get said(): readonly string[] {
    return this.#said;
  }

  /** The first line that `is` accepts; rejects when the program ends without one. */
  async line(is: (line: string) => boolean): Promise<string> {
    for (;;) {
      const found = this.#said.find(is);
      if (found !== undefined) return found;
      if (this.#ended) throw new Error(`a program has ended; it said ${this.#said.slice(-3).join(" | ")}`);
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  /** Ends it; resolves with its exit code, null where a signal has ended it. */
  async end(signal: NodeJS.Signals = "SIGKILL"): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const ended = once(this.child, "exit");
    this.child.kill(signal);
    return (await ended)[0] as number | null;
  }
}

const ENDPOINT = new URL("logs-endpoint.mjs", import.meta.url).pathname;

/** An endpoint in a process of its own; `port` 0 for any. */
export async function startEndpoint(
  file: string,
  port = 0,
  busy = 0,
  mute = 0,
): Promise<{ program: Program; port: number }> {
  const program = new Program([ENDPOINT, String(port), file, String(busy), String(mute)]);
  const said = await program.line((line) => line.startsWith("port "));
  return { program, port: Number(said.slice(5)) };
}

export function follow(root: string, url: string): Program {
  return new Program([BIN, "export", root, "--endpoint", url, "--follow"]);
}

/** Bodies that have arrived, by the name of their event, in order. */
export function arrivedIn(file: string): ReadonlyMap<string, readonly string[]> {
  const bodies = new Map<string, string[]>();
  for (const line of readFileSync(file, "utf8").split("\n").slice(0, -1)) {
    const [event, body] = JSON.parse(line) as [string, string];
    const known = bodies.get(event);
    if (known === undefined) bodies.set(event, [body]);
    else known.push(body);
  }
  return bodies;
}

/** Every line of every log, in no order. */
export function linesIn(root: string): readonly string[] {
  const receipts = join(root, "receipts");
  return readdirSync(receipts)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(receipts, name), "utf8").split("\n").slice(0, -1));
}

export interface Told {
  readonly written: readonly string[];
  readonly arrived: readonly string[];
  /** Heads on disk and heads that arrived, without duplicates. */
  readonly heads: { readonly written: number; readonly arrived: number };
  readonly kills: number;
}

const isCount =
  (least: number) =>
  (line: string): boolean =>
    Number(line) >= least;

/**
 * Writes `count` receipts while they are delivered.
 *
 * The endpoint is not there at first, answers 503 for a while, is killed twice and comes back; the sender is killed three times, before the endpoint is there, after it has taken lines and before it could answer, and in between. What arrives is compared by whoever asks.
 */
export async function outageStory(folder: string, count: number): Promise<Told> {
  const root = join(folder, "state");
  const file = join(folder, "arrived.jsonl");
  mkdirSync(root, { recursive: true });
  const reserved = await startEndpoint(join(folder, "nothing"));
  await reserved.program.end();
  const { port } = reserved;
  const url = `http://127.0.0.1:${port}`;
  const writing = write(root, count);
  let kills = 0;

  let sender = follow(root, url);
  await writing.reached(count / 10);
  await sender.end();
  kills++;
  sender = follow(root, url);
  let { program: endpoint } = await startEndpoint(file, port, 3, 4);
  await endpoint.line(isCount(1));
  await sender.end();
  kills++;
  sender = follow(root, url);
  await endpoint.line(isCount(count / 4));
  await endpoint.end();
  await writing.reached(count / 2);
  ({ program: endpoint } = await startEndpoint(file, port, 1));
  await endpoint.line(isCount(count / 8));
  await sender.end();
  kills++;
  sender = follow(root, url);
  await writing.done;
  await endpoint.line(isCount(count / 4));
  await endpoint.end();
  ({ program: endpoint } = await startEndpoint(file, port));
  await sender.end("SIGTERM");
  const last = await toolspan(["export", root, "--endpoint", url, "--json"]);
  if (last.code !== 0) throw new Error(`the last export ended with ${last.code}: ${last.stdout}${last.stderr}`);
  await endpoint.end();

  const arrived = arrivedIn(file);
  const heads = new Set(arrived.get("toolspan.receipts.head") ?? []);
  return {
    written: linesIn(root),
    arrived: arrived.get("toolspan.tool_call.receipt") ?? [],
    heads: { written: headsIn(root), arrived: heads.size },
    kills,
  };
}

/** Heads of all logs on disk. */
function headsIn(root: string): number {
  const receipts = join(root, "receipts");
  return readdirSync(receipts)
    .filter((name) => name.endsWith(".heads"))
    .reduce((sum, name) => sum + readFileSync(join(receipts, name), "utf8").split("\n\n").length - 1, 0);
}

/** Writes receipts of several sessions, in the pace of a disk that is shared. */
function write(root: string, count: number): { readonly done: Promise<void>; reached(least: number): Promise<void> } {
  const log = withAuditLog({ stateDir: root, policy: "best_effort", hash: "sha256" });
  const dispatch = createDispatcher([log]);
  let written = 0;
  let told: () => void = () => {};
  const run = async (): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const turn = { iteration: 1, sessionId: `session_${n % 7}`, toolCallIndex: n };
      await dispatch({ toolName: "work", toolArgs: { n, text: "é😀\u2028" }, turn }, () => ({ n }));
      written++;
      told();
      if (n % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
      if (n % 1000 === 999) await log.flush();
    }
    await log.close();
  };
  const reached = async (least: number): Promise<void> => {
    while (written < least) {
      await new Promise<void>((resolve) => {
        told = resolve;
      });
    }
  };
  return { done: run(), reached };
}
