/** The logs that this thread has open or has lost, and their orderly end when the process ends. */

/** What the end of the process needs of an open log. */
export interface OpenLog {
  /** Writes, syncs and closes at once. Never throws. */
  closeNow(): void;
}

interface Registry {
  readonly open: Map<string, OpenLog>;
  /** Logs whose descriptor failed: their writer lives, they do not. The last few are enough to link to. */
  readonly lost: Set<string>;
}

const KEY = Symbol.for("toolspan.receipts.logs");
const MAX_LOST = 1024;

/** Shared by all copies of this package in the thread. */
function registry(): Registry {
  const holder = globalThis as { [KEY]?: Registry };
  let found = holder[KEY];
  if (found === undefined) {
    found = { open: new Map(), lost: new Set() };
    holder[KEY] = found;
    const logs = found.open;
    process.on("exit", () => {
      for (const log of [...logs.values()]) log.closeNow();
    });
  }
  return found;
}

/** From now on the log is closed when the process exits, `process.exit()` and uncaught errors included. */
export function rememberOpen(id: string, log: OpenLog): void {
  registry().open.set(id, log);
}

export function forgetOpen(id: string): void {
  registry().open.delete(id);
}

export function rememberLost(id: string): void {
  const { open, lost } = registry();
  open.delete(id);
  if (lost.size >= MAX_LOST) lost.clear();
  lost.add(id);
}

export function isLost(id: string): boolean {
  return registry().lost.has(id);
}
