/** One sender per endpoint: a lock that a dead process does not keep. */

import { closeSync, fsyncSync, linkSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { uuidv7 } from "@toolspan/core";
import { createPrivate, writeAll } from "../log/private-file.ts";
import { readSmallFile } from "../log/read-small-file.ts";
import { stateOf, thisWriter } from "../log/writer-identity.ts";
import { isObject } from "../records/field.ts";
import type { Writer } from "../records/segment-open.ts";
import { replaceFile } from "./replace-file.ts";

const NAME = /^lock\.([1-9]\d{0,14})$/;
/** The highest number that such a name can hold: behind it there is no lock to take. */
const LAST_NUMBER = 999_999_999_999_999;
const MAX_BYTES = 16_384;

/** Who holds a lock; null where its file does not say it. */
type Holder = (Writer & { readonly token: string; readonly released: boolean }) | null;

const KEY = Symbol.for("toolspan.receipts.delivery.locks");

/** Tokens of the locks that this thread holds, shared by all copies of this package in it. */
function held(): Set<string> {
  const holder = globalThis as { [KEY]?: Set<string> };
  holder[KEY] ??= new Set();
  return holder[KEY];
}

/**
 * The lock is the file `lock.<n>` of the highest number. Whoever finds that one released, or its holder gone, links the next number, which only one can; and holds it if it is then the highest. The highest is never removed, so numbers never come back and a slow contender cannot meet a name that was free before.
 */
export class EndpointLock {
  readonly #folder: string;
  readonly #name: string;
  readonly #token: string;

  private constructor(folder: string, name: string, token: string) {
    this.#folder = folder;
    this.#name = name;
    this.#token = token;
  }

  /** Takes the lock of the endpoint's folder; where somebody holds it, says who in a few words. */
  static take(folder: string): EndpointLock | { readonly heldBy: string } {
    for (;;) {
      const last = highestIn(folder);
      if (last > 0) {
        const holder = holderIn(join(folder, `lock.${last}`));
        if (!isFree(holder)) return { heldBy: wordOf(holder, join(folder, `lock.${last}`)) };
      }
      // No sender gets so far; whoever made this file wants that none does.
      if (last >= LAST_NUMBER)
        return { heldBy: `nobody, but no lock can follow ${join(folder, `lock.${last}`)}; remove it` };
      const token = uuidv7();
      const name = `lock.${last + 1}`;
      if (!link(folder, name, token)) continue;
      if (highestIn(folder) !== last + 1) {
        rmSync(join(folder, name), { force: true });
        continue;
      }
      for (const number of numbersIn(folder)) {
        if (number <= last) rmSync(join(folder, `lock.${number}`), { force: true });
      }
      held().add(token);
      return new EndpointLock(folder, name, token);
    }
  }

  release(): void {
    if (!held().delete(this.#token)) return;
    replaceFile(this.#folder, this.#name, textOf(this.#token, true));
  }
}

function isFree(holder: Holder): boolean {
  if (holder === null) return false;
  if (holder.released) return true;
  const self = thisWriter();
  // A number may come back with a restarted container: then it is ours, and we know what we hold.
  if (holder.host === self.host && holder.boot === self.boot && holder.pid === self.pid) return !isOurs(holder);
  return stateOf(holder) === "gone";
}

/** A worker thread is of this process, and has locks of its own. */
function isOurs({ token, started_at }: { readonly token: string; readonly started_at: string }): boolean {
  return held().has(token) || Math.abs(Date.parse(started_at) - Date.parse(thisWriter().started_at)) < 1000;
}

function wordOf(holder: Holder, path: string): string {
  if (holder === null) return `a process that ${path} does not name`;
  return stateOf(holder) === "unknown"
    ? `a process of another host or boot; if it is gone, remove ${path}`
    : `process ${holder.pid}`;
}

/** Makes the file with its content, or nothing. */
function link(folder: string, name: string, token: string): boolean {
  const next = join(folder, `lock.${token}.next`);
  const fd = createPrivate(next);
  try {
    writeAll(fd, Buffer.from(textOf(token, false)));
    fsyncSync(fd);
    linkSync(next, join(folder, name));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    closeSync(fd);
    rmSync(next, { force: true });
  }
}

function textOf(token: string, released: boolean): string {
  return `${JSON.stringify({ ...thisWriter(), token, released })}\n`;
}

function numbersIn(folder: string): readonly number[] {
  return readdirSync(folder).flatMap((name) => {
    const number = NAME.exec(name)?.[1];
    return number === undefined ? [] : [Number(number)];
  });
}

function highestIn(folder: string): number {
  return Math.max(0, ...numbersIn(folder));
}

function holderIn(path: string): Holder {
  try {
    const value: unknown = JSON.parse(readSmallFile(path, MAX_BYTES).bytes.toString("utf8"));
    if (!isObject(value) || typeof value.token !== "string") return null;
    const { host, boot, pid, started_at, token, released } = value;
    if (typeof host !== "string" || typeof pid !== "number" || typeof started_at !== "string") return null;
    return { host, boot: typeof boot === "string" ? boot : null, pid, started_at, token, released: released === true };
  } catch (error) {
    // It was removed because a higher one is there now.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { ...thisWriter(), token: "", released: true };
    return null;
  }
}
