/** Which signer an option or the environment asks for. */

import { kindOf, ToolspanError } from "@toolspan/core";
import { fileSigner } from "./file-signer.ts";
import type { Signer } from "./signer.ts";
import { isOwnKeyName, parseVerifierKey } from "./verifier-key.ts";

/** The signer of the option; where that is absent, of the key file that `TOOLSPAN_SIGNING_KEY` names; else none. */
export function signerOf(option: Signer | null | undefined): Signer | null {
  if (option !== undefined) return option;
  const path = process.env.TOOLSPAN_SIGNING_KEY;
  return path === undefined || path === "" ? null : fileSigner(path);
}

export function assertSigner(subject: string, option: Signer | null | undefined): void {
  if (option === undefined || option === null) return;
  const { sign, verifierKey, keyName } = option as Partial<Signer>;
  const key = typeof verifierKey === "string" ? parseVerifierKey(verifierKey) : null;
  if (typeof sign === "function" && key !== null && key.name === keyName && isOwnKeyName(keyName)) return;
  const received =
    typeof sign === "function" ? "one whose verifier key is none, or bears another name" : kindOf(option);
  const expected = "a signer with keyName, verifierKey (C2SP signed-note) and sign";
  throw new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject, option: "signer", expected, received });
}
