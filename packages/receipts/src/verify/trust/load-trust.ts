/** Reads what `trust` names: a verifier key, a file with one, or a policy file. */

import { dirname, resolve } from "node:path";
import { ToolspanError } from "@toolspan/core";
import { parseKeyLog } from "../../keys/key-log.ts";
import { parseVerifierKey, type VerifierKey } from "../../keys/verifier-key.ts";
import { readSmallFile } from "../../log/read-small-file.ts";
import { isObject, time } from "../../records/field.ts";
import type { Checks } from "../checks.ts";
import { Trust, type TrustParts } from "./trust.ts";

/** A key log grows by a few hundred bytes with each change of keys. */
const MAX_BYTES = 16 * 1024 * 1024;
const FIELDS: ReadonlySet<string> = new Set(["keys", "rotation", "revoked"]);

/**
 * The trust that `named` asks for.
 *
 * @throws TOOLSPAN_INVALID_OPTION for what is neither a verifier key nor a readable file of one or of a policy.
 */
export function loadTrust(named: string, checks: Checks): Trust {
  const key = parseVerifierKey(named);
  if (key !== null) return new Trust(partsOf([key]), checks);
  const text = read(named, "a verifier key, or the path of one or of a policy file");
  const inFile = parseVerifierKey(text.trim());
  return new Trust(inFile === null ? policyOf(named, text) : partsOf([inFile]), checks);
}

function partsOf(keys: readonly VerifierKey[]): TrustParts {
  return { keys, rotation: null, revoked: new Map() };
}

function policyOf(path: string, text: string): TrustParts {
  const policy = parse(text);
  if (!isObject(policy)) throw invalid("a verifier key or a JSON object", "something else");
  const unknown = Object.keys(policy).find((field) => !FIELDS.has(field));
  if (unknown !== undefined) throw invalid("a policy { keys, rotation, revoked }", "one with another field");
  const { keys, rotation = null, revoked = [] } = policy;
  if (!Array.isArray(keys) || keys.length === 0) throw invalid("keys to be a list of verifier keys", "none");
  if (rotation !== null && typeof rotation !== "string") throw invalid("rotation to be a path or null", "neither");
  if (!Array.isArray(revoked)) throw invalid("revoked to be a list of { key, from }", "something else");
  return {
    keys: keys.map(keyOf),
    rotation: rotation === null ? null : readRotation(path, rotation),
    revoked: new Map(revoked.map(revocationOf)),
  };
}

/** A path in a policy file is relative to that file. */
function readRotation(policy: string, path: string): TrustParts["rotation"] {
  const text = read(resolve(dirname(policy), path), "rotation to be the path of a key log");
  return { file: path, log: parseKeyLog(text) };
}

function revocationOf(entry: unknown): readonly [string, string] {
  const { key, from } = isObject(entry) ? entry : {};
  if (from !== null && from !== undefined && !time.accepts(from)) {
    throw invalid("from to be a time such as 2027-01-15T08:00:00.000000000Z, or null for always", "another value");
  }
  return [keyOf(key).text, typeof from === "string" ? from : ""];
}

function keyOf(text: unknown): VerifierKey {
  const key = typeof text === "string" ? parseVerifierKey(text) : null;
  if (key === null) throw invalid("verifier keys of C2SP signed-note (Ed25519)", "something else among them");
  return key;
}

function read(path: string, expected: string): string {
  try {
    return readSmallFile(path, MAX_BYTES, { followLink: true }).bytes.toString("utf8");
  } catch (error) {
    if (ToolspanError.is(error, "TOOLSPAN_RECEIPT_STORE")) throw invalid(expected, error.details.received);
    throw invalid(expected, String((error as NodeJS.ErrnoException).code ?? "an error"));
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function invalid(expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject: "verifyLog", option: "trust", expected, received });
}
