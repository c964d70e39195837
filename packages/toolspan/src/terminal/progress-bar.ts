/** A bar that tells a person how far a long command has come; nothing where nobody looks. */

import type { Screen } from "./console.ts";
import { count } from "./quantity.ts";
import { inColumns } from "./terminal-width.ts";

export interface Progress {
  /** How much of the whole is done: bytes of a file, lines of a log. */
  update(done: number, note: string): void;
  /** Takes the bar off the screen. */
  clear(): void;
}

const EVERY_MS = 80;
const CELLS = 28;
const ERASE = "\r\u001B[K";

const hidden: Progress = { update() {}, clear() {} };

/**
 * Makes a bar on one line of the screen.
 *
 * @param total What `done` will come to; 0 where that is not known, which shows the note alone.
 */
export function progressBar(
  screen: Screen,
  title: string,
  total: number,
  now: () => number = () => performance.now(),
): Progress {
  if (!screen.live) return hidden;
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    update(done, note) {
      const at = now();
      if (at - drawnAt < EVERY_MS) return;
      drawnAt = at;
      const text = total > 0 ? `${title} ${gauge(done / total)} ${note}` : `${title} ${note}`;
      screen.write(`${ERASE}${inColumns(text, screen.columns - 1).trimEnd()}`);
    },
    clear() {
      if (drawnAt !== Number.NEGATIVE_INFINITY) screen.write(ERASE);
    },
  };
}

function gauge(share: number): string {
  const bounded = Math.min(1, Math.max(0, share));
  const full = Math.round(bounded * CELLS);
  const percent = count(Math.floor(bounded * 100)).padStart(3);
  return `${"█".repeat(full)}${"░".repeat(CELLS - full)} ${percent} %`;
}
