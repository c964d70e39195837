/** Many callers, one sync: who comes while one is under way is served together by the next. */

/** Every so many lone commits one goes through the pool, to see whether others come meanwhile. */
const PROBE_EVERY = 16;
/** A disk slower than this must not hold up the event loop. */
const SLOW_SYNC_MS = 2;

/** What is committed to. */
export interface Committed {
  /** Makes durable what is there now, before it returns. */
  syncNow(): void;
  /** The same in another thread. */
  syncInPool(): Promise<void>;
  /** A sync has failed. Called before its callers are told. */
  fail(error: unknown): void;
  /** A group has been served, the next one waits and is not under way yet. */
  quiet(): void;
}

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

export class GroupCommit {
  readonly #committed: Committed;
  #waiters: Waiter[] = [];
  #underWay = false;
  #lone = 0;
  #crowded = false;
  #slow = false;

  constructor(committed: Committed) {
    this.#committed = committed;
  }

  /** True when no group is under way. */
  get idle(): boolean {
    return !this.#underWay;
  }

  /** Resolves when everything so far is durable. */
  join(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      if (this.#underWay) return;
      this.#underWay = true;
      // One turn of microtasks: callers that were released together come back together.
      queueMicrotask(() => void this.#serve());
    });
  }

  /** Rejects for all who are not being served yet. */
  refuse(error: unknown): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(error);
  }

  async #serve(): Promise<void> {
    while (this.#waiters.length > 0) {
      const served = this.#waiters;
      this.#waiters = [];
      try {
        if (this.#mayHoldUp(served.length)) this.#syncHere();
        else await this.#syncInPool();
      } catch (error) {
        this.#committed.fail(error);
        for (const { reject } of served) reject(error);
        break;
      }
      for (const { resolve } of served) resolve();
      // Those that were just served may bring their next line before the next group is closed.
      if (this.#crowded) await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#waiters.length > 0) this.#committed.quiet();
    }
    this.#underWay = false;
  }

  /** A lone caller is served fastest in this thread, as long as nobody else is held up by it. */
  #mayHoldUp(waiting: number): boolean {
    if (waiting > 1 || this.#crowded || this.#slow) return false;
    this.#lone++;
    return this.#lone % PROBE_EVERY !== 0;
  }

  #syncHere(): void {
    const started = performance.now();
    this.#committed.syncNow();
    this.#slow = performance.now() - started > SLOW_SYNC_MS;
  }

  async #syncInPool(): Promise<void> {
    const started = performance.now();
    await this.#committed.syncInPool();
    this.#slow = performance.now() - started > SLOW_SYNC_MS * 2;
    this.#crowded = this.#waiters.length > 0;
  }
}
