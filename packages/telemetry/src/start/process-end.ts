/** What still runs when the process ends: once per process, for everybody who asked. */

export interface EndTask {
  /**
   * Waited for on SIGINT, SIGTERM, when nothing is left to do, and with `crash` after an uncaught exception. Bounded by itself.
   * `isLast`: the process ends right after it, without `exit`.
   */
  readonly end: (isLast: boolean) => Promise<unknown>;
  /** Runs while the process exits; nothing asynchronous happens after it. */
  readonly exit: () => void;
  readonly signals: boolean;
  readonly crash: boolean;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
const tasks = new Set<EndTask>();
let ending: Promise<unknown> | undefined;
const listeners: [event: string, listener: (...args: never[]) => void][] = [];

/** Registers a task; returns its removal. The last removal takes every listener off the process. */
export function atProcessEnd(task: EndTask): () => void {
  tasks.add(task);
  if (task.signals) for (const signal of SIGNALS) listen(signal, onSignal);
  if (task.crash) listen("uncaughtException", onCrash);
  listen("beforeExit", onIdle);
  listen("exit", onExit);
  return () => {
    tasks.delete(task);
    if (tasks.size === 0)
      for (const [event, listener] of listeners.splice(0)) process.off(event, listener as () => void);
  };
}

function listen(event: string, listener: (...args: never[]) => void): void {
  if (listeners.some(([taken]) => taken === event)) return;
  listeners.push([event, listener]);
  process.on(event, listener as () => void);
}

/** All tasks at once, and only once. */
function endAll(isLast: boolean): Promise<unknown> {
  ending ??= Promise.allSettled([...tasks].map(({ end }) => end(isLast))).finally(() => {
    ending = undefined;
  });
  return ending;
}

/** Afterwards the signal does what it would have done without us, unless the host listens to it too. */
function onSignal(signal: NodeJS.Signals): void {
  process.off(signal, onSignal);
  const hostListens = process.listenerCount(signal) > 0;
  void endAll(!hostListens).then(() => {
    if (!hostListens) process.kill(process.pid, signal);
  });
}

function onIdle(): void {
  process.off("beforeExit", onIdle);
  void endAll(false);
}

/** Prints and ends as Node does without a listener, after the tasks; where the host listens too, the end is the host's. */
function onCrash(thrown: unknown): void {
  process.off("uncaughtException", onCrash);
  const hostListens = process.listenerCount("uncaughtException") > 0;
  if (!hostListens) process.stderr.write(`Uncaught ${process.getBuiltinModule("node:util").inspect(thrown)}\n`);
  void endAll(false).then(() => {
    if (!hostListens) process.exit(1);
  });
}

function onExit(): void {
  for (const { exit } of tasks) exit();
}
