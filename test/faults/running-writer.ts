// A writer as a process of its own: started, talked to, killed, and what it said until its end.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Said, WriterOrders } from "./writer.ts";

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

export class RunningWriter {
  readonly orders: WriterOrders;
  readonly child: ChildProcess;
  /** Complete lines only: a word cut short by death was not said. */
  readonly said: Said[] = [];
  readonly ended: Promise<Ended>;
  readonly #heard = new Set<() => void>();

  /** @param prefix Runs it through another command. */
  constructor(program: string, orders: WriterOrders, prefix: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    this.orders = orders;
    const [command, ...args] = [...prefix, process.execPath, program, JSON.stringify(orders)];
    const child = spawn(command as string, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
    this.child = child;
    let rest = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() as string;
      for (const line of lines) this.said.push(JSON.parse(line) as Said);
      for (const hear of this.#heard) hear();
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.stdin.on("error", () => {}); // it may be dead before it is spoken to
    this.ended = once(child, "close").then(([code, signal]) => ({ code, signal, stderr }) as Ended);
  }

  /** Resolves once it has said `count` times `word`; rejects when it ends before. */
  async heard(word: Said["say"], count = 1): Promise<void> {
    const enough = (): boolean => this.said.filter(({ say }) => say === word).length >= count;
    let hear = (): void => {};
    const hearing = new Promise<void>((resolve) => {
      hear = () => {
        if (enough()) resolve();
      };
      this.#heard.add(hear);
      hear();
    });
    const silent = this.ended.then(({ stderr }) => {
      if (!enough()) throw new Error(`the writer ended without a word of "${word}": ${stderr}`);
    });
    await Promise.race([hearing, silent]);
    this.#heard.delete(hear);
  }

  /** Lets it go on from `wait`. */
  goOn(): void {
    this.child.stdin?.write("\n");
  }

  kill(): Promise<Ended> {
    this.child.kill("SIGKILL");
    return this.ended;
  }
}
