// Parts for laws of signatures: keys of their own, logs that they sign, and signatures made by hand.
import { sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AuditLogOptions, fileSigner, initSigningKey, type SigningKeyFacts } from "@toolspan/receipts";
import { signatureLine } from "../../packages/receipts/src/keys/signature-line.ts";
import { readSigningKey } from "../../packages/receipts/src/keys/signing-key.ts";
import { closedLog, type Recorded, temporaryFolder } from "./parts.ts";

/** A new key in a folder of its own. */
export function newKey(installation = "host-1"): SigningKeyFacts {
  return initSigningKey(join(temporaryFolder(), "signing.pem"), installation);
}

/** A closed log of `count` receipts under signed heads. */
export function signedLog(count: number, key: SigningKeyFacts, options: AuditLogOptions = {}): Promise<Recorded> {
  return closedLog(count, { signer: fileSigner(key.path), ...options });
}

/** The signature line of the key in `path` over `text`, without a newline. */
export function signedBy(path: string, text: string): string {
  const { verifier, privateKey } = readSigningKey(path);
  return signatureLine(verifier, sign(null, Buffer.from(text), privateKey));
}

/** Rewrites a file of a folder. */
export function edit(folder: string, file: string, change: (text: string) => string): void {
  const path = join(folder, file);
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

/** A policy file. */
export function policyFile(policy: object): string {
  const path = join(temporaryFolder(), "policy.json");
  writeFileSync(path, JSON.stringify(policy));
  return path;
}
