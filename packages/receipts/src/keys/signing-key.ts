/** A signing key as a PKCS#8 PEM file that nobody else can read, its name in a line before it. */

import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { ToolspanError } from "@toolspan/core";
import { createPrivate, syncFolder, writeAll } from "../log/private-file.ts";
import { readSmallFile, type SmallFile } from "../log/read-small-file.ts";
import { isOwnKeyName, type VerifierKey, verifierKeyOf } from "./verifier-key.ts";

export interface SigningKey {
  readonly verifier: VerifierKey;
  readonly privateKey: KeyObject;
  /** Tells one content of the path from another. */
  readonly stamp: string;
}

const NAME_LINE = "toolspan signing key ";
const READABLE_BY_OTHERS = 0o077;
const MAX_BYTES = 65_536;

/**
 * Reads the key at `path`.
 *
 * A PEM file that was made elsewhere has no line with a name; its name then follows from its public key.
 *
 * @throws TOOLSPAN_SIGNING_KEY for a file that is not there, is readable by others, or holds no Ed25519 key.
 */
export function readSigningKey(path: string): SigningKey {
  const { text, stamp } = readPrivate(path);
  const start = text.indexOf("-----BEGIN ");
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(text.slice(Math.max(0, start)));
  } catch {
    throw refused(path, "an unencrypted PKCS#8 key in PEM", "something else"); // the cause could hold parts of it
  }
  if (privateKey.asymmetricKeyType !== "ed25519") {
    throw refused(path, "an Ed25519 key", `one of kind ${privateKey.asymmetricKeyType}`);
  }
  const named = text
    .slice(0, Math.max(0, start))
    .split("\n")
    .find((line) => line.startsWith(NAME_LINE));
  const name = named === undefined ? nameFrom(privateKey) : named.slice(NAME_LINE.length).trim();
  if (!isOwnKeyName(name))
    throw refused(path, "a key name of printable ASCII without spaces and plus signs", "another one");
  return { verifier: verifierKeyOf(name, privateKey), privateKey, stamp };
}

/** Tells whether the content of `path` may have changed; null when it is not there. */
export function stampOf(path: string): string | null {
  try {
    return stamp(statSync(path));
  } catch {
    return null;
  }
}

/** Makes a new key and writes it to `path`, durable, 0600; never over another file. */
export function createSigningKey(path: string, name: string): SigningKey {
  const { privateKey } = generateKeyPairSync("ed25519");
  const text = `${NAME_LINE}${name}\n${privateKey.export({ type: "pkcs8", format: "pem" })}`;
  let fd: number;
  try {
    fd = createPrivate(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw refused(path, "no file yet", "one, which is left as it is");
    throw refused(path, "a place for a new file", code ?? "an error");
  }
  try {
    writeAll(fd, Buffer.from(text));
    fsyncSync(fd);
    syncFolder(dirname(path));
    return { verifier: verifierKeyOf(name, privateKey), privateKey, stamp: stamp(fstatSync(fd)) };
  } finally {
    closeSync(fd);
  }
}

export function refused(path: string, expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_SIGNING_KEY", { path, expected, received });
}

function readPrivate(path: string): { readonly text: string; readonly stamp: string } {
  let file: SmallFile;
  try {
    file = readSmallFile(path, MAX_BYTES, { followLink: true }); // a mounted secret is a link
  } catch (error) {
    if (ToolspanError.is(error)) throw refused(path, "a small file", "something else");
    throw refused(path, "a file that can be read", (error as NodeJS.ErrnoException).code ?? "an error");
  }
  const { bytes, stats } = file;
  if (process.platform !== "win32" && (stats.mode & READABLE_BY_OTHERS) !== 0) {
    throw refused(path, "mode 0600, or less", `mode ${(stats.mode & 0o7777).toString(8).padStart(4, "0")}`);
  }
  return { text: bytes.toString("utf8"), stamp: stamp(stats) };
}

function stamp({ dev, ino, mtimeMs, size }: Stats): string {
  return `${dev}:${ino}:${mtimeMs}:${size}`;
}

function nameFrom(privateKey: KeyObject): string {
  const { x } = privateKey.export({ format: "jwk" });
  return `key-${createHash("sha256")
    .update(x as string)
    .digest("hex")
    .slice(0, 16)}/toolspan`;
}
