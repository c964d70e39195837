/** The option `hash`: how recorded values are hashed, by a word, with what its mode needs, or by a hasher. */

import { committedHasher, keyedHasher, plainHasher } from "@toolspan/canonical/hash";
import { type Hasher, kindOf, type ToolspanError } from "@toolspan/core";
import { invalidOption } from "./options.ts";

/** A mode with what it needs. */
export type HashChoice =
  /** Comparable by anyone, and guessable where values are short; said outright, it is not warned of. */
  | "sha256"
  /** Hides values until they are opened; erasable by `toolspan erase`. */
  | "commit-sha256"
  | { readonly mode: "sha256" }
  | { readonly mode: "commit-sha256" }
  /** Comparable by whoever holds the key: at least 32 random bytes, and a name for it. */
  | { readonly mode: "hmac-sha256"; readonly key: Uint8Array; readonly keyId: string };

/**
 * The hasher that `hash` and `redact` describe; undefined where neither was given.
 *
 * @param warn Called once when arguments are hashed that can be guessed, where plain hashing was nobody's choice.
 * @throws TOOLSPAN_INVALID_OPTION
 */
export function toHasher(
  hash: Hasher | HashChoice | undefined,
  redact: readonly string[] | undefined,
  warn: () => void,
): Hasher | undefined {
  if (redact !== undefined && (!Array.isArray(redact) || !redact.every((key) => typeof key === "string"))) {
    throw invalid("redact", "a list of key names", kindOf(redact));
  }
  const names = redact === undefined ? {} : { redact };
  if (hash === undefined) return redact === undefined ? undefined : plainHasher({ ...names, onGuessable: warn });
  if (isHasher(hash)) {
    if (redact === undefined) return hash;
    throw invalid("redact", "given to the hasher, when there is one", "both hash and redact");
  }
  const choice: unknown = typeof hash === "string" ? { mode: hash } : hash;
  const { mode, key, keyId } = (typeof choice === "object" ? (choice ?? {}) : {}) as Partial<Record<string, unknown>>;
  if (mode === "sha256") return plainHasher(names);
  if (mode === "commit-sha256") return committedHasher(names);
  if (mode === "hmac-sha256") return keyed({ key: key as Uint8Array, keyId: keyId as string, ...names });
  throw invalid("hash", 'a hasher, "sha256", "commit-sha256" or { mode, key, keyId }', kindOf(hash));
}

function isHasher(hash: Hasher | HashChoice): hash is Hasher {
  return typeof hash === "object" && hash !== null && typeof (hash as Partial<Hasher>).value === "function";
}

function keyed(options: Parameters<typeof keyedHasher>[0]): Hasher {
  try {
    return keyedHasher(options);
  } catch (error) {
    // Its message names the option and its size, never the key.
    const [option = "hash", expected = ""] = (error as Error).message.replace("options.", "hash.").split(": expected ");
    const [wanted = "", received = ""] = expected.split(", received ");
    throw invalid(option, wanted, received);
  }
}

function invalid(option: string, expected: string, received: string): ToolspanError {
  return invalidOption("withAuditLog", option, expected, received);
}
