/** Making, showing and changing the signing key of an installation: what `toolspan keys` does. */

import { randomBytes, sign } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  readFileSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { kindOf, ToolspanError } from "@toolspan/core";
import { openPrivate, syncFolder, writeAll } from "../log/private-file.ts";
import { openRegularFile } from "../log/read-small-file.ts";
import { RECEIPTS_FOLDER } from "../log/receipt-folder.ts";
import { stateRoot } from "../log/state-root.ts";
import { nowText } from "../log/writer-identity.ts";
import { keyLogOf, parseKeyLog, rotationText } from "./key-log.ts";
import { destroyRetiredKeys, type RetiredKeys, retiredPath } from "./retired-keys.ts";
import { signatureLine } from "./signature-line.ts";
import { createSigningKey, readSigningKey, refused } from "./signing-key.ts";

export interface SigningKeyFacts {
  readonly path: string;
  readonly keyName: string;
  /** What those who verify are given, by another way than the logs. */
  readonly verifierKey: string;
  /** The file of statements about changes of the key; it is there once there was one. */
  readonly keyLog: string;
}

export interface RotatedKey extends SigningKeyFacts, RetiredKeys {
  readonly oldVerifierKey: string;
  readonly rotatedAt: string;
}

export interface RotateOptions {
  /** State root whose logs may still be open under the old key; default as for the logs. */
  readonly stateDir?: string;
  /** Destroys the old key at once, and finishes after a rotation that died. */
  readonly force?: boolean;
}

const INSTALLATION = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Makes the signing key of an installation: Ed25519, a 0600 PKCS#8 PEM file, durable.
 *
 * @param path Where; nothing may be there yet.
 * @param installation Names it to those who verify: letters, digits, `.`, `_`, `-`, at most 64. Default: random.
 * @throws TOOLSPAN_SIGNING_KEY when there is a file already or none can be made; TOOLSPAN_INVALID_OPTION for a bad name.
 */
export function initSigningKey(path: string, installation: string = randomBytes(8).toString("hex")): SigningKeyFacts {
  if (typeof installation !== "string" || !INSTALLATION.test(installation)) {
    const expected = "1 to 64 letters, digits, dots, underscores or hyphens";
    const received = typeof installation === "string" ? "another text" : kindOf(installation);
    throw new ToolspanError("TOOLSPAN_INVALID_OPTION", {
      subject: "initSigningKey",
      option: "installation",
      expected,
      received,
    });
  }
  return factsOf(path, createSigningKey(path, `${installation}/toolspan`).verifier);
}

/** The public half of the key at `path`. Throws TOOLSPAN_SIGNING_KEY as `fileSigner` does. */
export function showSigningKey(path: string): SigningKeyFacts {
  return factsOf(path, readSigningKey(path).verifier);
}

/**
 * Puts a new key in the place of the one at `path`, under the same name.
 *
 * The old key signs a statement that names the new one, in the key log beside it; then the new key takes its place. Logs that are open keep the key they were opened under, the next ones take the new one. The old private key is destroyed once no log is open under it.
 *
 * @throws TOOLSPAN_SIGNING_KEY when the key, its log or its folder cannot be used, or another rotation is under way.
 */
export function rotateSigningKey(path: string, { stateDir, force = false }: RotateOptions = {}): RotatedKey {
  const next = `${path}.next`;
  if (existsSync(next)) clearInterrupted(path, next, force);
  const old = readSigningKey(path);
  const { verifier } = createSigningKey(next, old.verifier.name);
  const rotatedAt = nowText();
  const text = rotationText(old.verifier, verifier, rotatedAt);
  append(keyLogOf(path), `${text}\n${signatureLine(old.verifier, sign(null, Buffer.from(text), old.privateKey))}\n`);
  takePlace(path, next, old.verifier.id);
  const retired = destroyRetiredKeys(path, join(stateRoot(stateDir), RECEIPTS_FOLDER), force);
  return { ...factsOf(path, verifier), oldVerifierKey: old.verifier.text, rotatedAt, ...retired };
}

/** A rotation that died after its statement is finished; one that died before it leaves a key that nobody named. */
function clearInterrupted(path: string, next: string, force: boolean): void {
  if (!force) throw refused(next, "no file: another rotation may be under way", "one; if none is, use force");
  const old = readSigningKey(path).verifier;
  const log = existsSync(keyLogOf(path)) ? parseKeyLog(keyLogIn(keyLogOf(path))).statements : [];
  const waiting = readSigningKeyOrNull(next);
  const announced = log.some(({ oldKey, newKey }) => oldKey.text === old.text && newKey.text === waiting);
  if (announced) takePlace(path, next, old.id);
  else unlinkSync(next);
}

function keyLogIn(path: string): string {
  const fd = openRegularFile(path);
  try {
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

function readSigningKeyOrNull(path: string): string | null {
  try {
    return readSigningKey(path).verifier.text;
  } catch {
    return null; // not written to its end
  }
}

/** At every moment there is a whole key at `path`. */
function takePlace(path: string, next: string, oldId: string): void {
  const retired = retiredPath(path, oldId);
  if (!existsSync(retired)) linkSync(path, retired);
  renameSync(next, path);
  syncFolder(dirname(path));
}

/** Adds a statement, durable, behind the last whole one. */
function append(path: string, statement: string): void {
  const { fd } = openPrivate(path);
  try {
    const found = readFileSync(fd, "utf8");
    const { damaged, bytes } = parseKeyLog(found);
    if (damaged !== null && found.slice(bytes).includes("\n\n")) {
      throw refused(path, "whole statements", `something else from line ${damaged} on`);
    }
    if (damaged !== null) ftruncateSync(fd, bytes); // what a rotation that died has begun to say
    writeAll(fd, Buffer.from(statement));
    fsyncSync(fd);
    syncFolder(dirname(path));
  } finally {
    closeSync(fd);
  }
}

function factsOf(path: string, { name, text }: { readonly name: string; readonly text: string }): SigningKeyFacts {
  return { path, keyName: name, verifierKey: text, keyLog: keyLogOf(path) };
}
