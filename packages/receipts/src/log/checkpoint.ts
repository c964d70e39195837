/** Heads of a log as C2SP checkpoint text; unsigned ones have no signature line after the blank one. */

import { SIGNATURE_START } from "../keys/signature-line.ts";

/** What a head says: the first `size` lines of log `log` have this root. */
export interface Checkpoint {
  readonly log: string;
  readonly size: number;
  /** Lower-case hex. */
  readonly root: string;
}

/** A head with whose it says it is. */
export interface NamedCheckpoint extends Checkpoint {
  /** Name of the key that has to sign it; null for an unsigned head. */
  readonly keyName: string | null;
}

/** Stands in the place of a key's name in the origin of unsigned heads. */
const UNSIGNED = "toolspan";
const SIZE = /^(0|[1-9][0-9]{0,15})$/;
/** "— " as it is in files that are read as Latin-1, so that every byte counts. */
export const SIGNATURE_START_LATIN1: string = Buffer.from(SIGNATURE_START).toString("latin1");

export function originOf(log: string, keyName: string | null = null): string {
  return `${keyName ?? UNSIGNED}/${log}`;
}

/**
 * The text of an unsigned head, or with `keyName` what the key of that name has to sign, and a blank line.
 *
 * @source C2SP tlog-checkpoint (body), signed-note (blank line before signatures)
 */
export function checkpointText({ log, size, root }: Checkpoint, keyName: string | null = null): string {
  return `${originOf(log, keyName)}\n${size}\n${Buffer.from(root, "hex").toString("base64")}\n\n`;
}

/** Reads the three lines of a head's body; null when they are not those of a head. */
export function parseCheckpoint(origin: string, size: string, root: string): NamedCheckpoint | null {
  const slash = origin.lastIndexOf("/");
  const log = origin.slice(slash + 1);
  if (slash < 1 || log === "" || !SIZE.test(size)) return null;
  const bytes = Buffer.from(root, "base64");
  // Decoding skips what it does not know; only the one canonical text of 32 bytes will do.
  if (bytes.length !== 32 || bytes.toString("base64") !== root || !Number.isSafeInteger(Number(size))) return null;
  const name = origin.slice(0, slash);
  return { log, size: Number(size), root: bytes.toString("hex"), keyName: name === UNSIGNED ? null : name };
}

/** True when `text`, read as Latin-1, is the beginning of a head of `log`: what a writer that died while writing it leaves. `origins` are those that it gives, null when that is not known. */
export function isTornCheckpoint(text: string, log: string, origins: readonly string[] | null = null): boolean {
  const [origin = "", size, root, blank, signature, ...more] = text.split("\n");
  if (
    origins !== null &&
    !origins.some((known) => (size === undefined ? known.startsWith(origin) : known === origin))
  ) {
    return false;
  }
  if (size === undefined) return isTornOrigin(origin, log);
  const slash = origin.lastIndexOf("/");
  if (slash < 1 || origin.slice(slash + 1) !== log || more.length > 0) return false;
  if (root === undefined) return size === "" || /^[1-9][0-9]{0,15}$/.test(size);
  if (!/^[1-9][0-9]{0,15}$/.test(size)) return false;
  if (blank === undefined) return /^([A-Za-z0-9+/]{0,43}|[A-Za-z0-9+/]{43}=)$/.test(root);
  if (!/^[A-Za-z0-9+/]{43}=$/.test(root) || blank !== "") return false;
  const name = origin.slice(0, slash);
  return signature === undefined || (name !== UNSIGNED && isTornSignature(signature, name));
}

/** True for the beginning of the signature line of the key `name`, Latin-1. */
export function isTornSignature(text: string, name: string): boolean {
  const start = `${SIGNATURE_START_LATIN1}${name} `;
  if (text.length <= start.length) return start.startsWith(text);
  return text.startsWith(start) && /^[A-Za-z0-9+/]*={0,2}$/.test(text.slice(start.length));
}

function isTornOrigin(text: string, log: string): boolean {
  if (originOf(log).startsWith(text)) return true;
  const slash = text.lastIndexOf("/");
  // A key's name may have slashes of its own, so what stands behind the last one may be a part of it.
  return /^[^\s+]+$/.test(text) && (log.startsWith(text.slice(slash + 1)) || text.split("/").length < 3);
}
