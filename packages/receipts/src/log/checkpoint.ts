/** Heads of a log as C2SP checkpoint text; unsigned ones have no signature line after the blank one. */

/** What a head says: the first `size` lines of log `log` have this root. */
export interface Checkpoint {
  readonly log: string;
  readonly size: number;
  /** Lower-case hex. */
  readonly root: string;
}

const ORIGIN = "toolspan/";
const SIZE = /^(0|[1-9][0-9]{0,15})$/;

export function originOf(log: string): string {
  return ORIGIN + log;
}

/**
 * The text of an unsigned head.
 *
 * @source C2SP tlog-checkpoint (body), signed-note (blank line before signatures)
 */
export function checkpointText({ log, size, root }: Checkpoint): string {
  return `${originOf(log)}\n${size}\n${Buffer.from(root, "hex").toString("base64")}\n\n`;
}

/** Reads the three lines of a head's body; null when they are not those of a head. */
export function parseCheckpoint(origin: string, size: string, root: string): Checkpoint | null {
  if (!origin.startsWith(ORIGIN) || origin.length === ORIGIN.length || !SIZE.test(size)) return null;
  const bytes = Buffer.from(root, "base64");
  // Decoding skips what it does not know; only the one canonical text of 32 bytes will do.
  if (bytes.length !== 32 || bytes.toString("base64") !== root || !Number.isSafeInteger(Number(size))) return null;
  return { log: origin.slice(ORIGIN.length), size: Number(size), root: bytes.toString("hex") };
}

/** True when `text` is the beginning of a head of `log`: what a writer that died while writing it leaves. */
export function isTornCheckpoint(text: string, log: string): boolean {
  const origin = `${originOf(log)}\n`;
  if (text.length <= origin.length) return origin.startsWith(text);
  if (!text.startsWith(origin)) return false;
  return /^[1-9][0-9]{0,15}(\n([A-Za-z0-9+/]{0,43}|[A-Za-z0-9+/]{43}=\n?))?$/.test(text.slice(origin.length));
}
