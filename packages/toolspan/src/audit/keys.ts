/** The command `keys`: makes, shows and changes the key that signs heads. It prints public halves only. */

import {
  initSigningKey,
  type RotatedKey,
  rotateSigningKey,
  type SigningKeyFacts,
  showSigningKey,
} from "@toolspan/receipts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { exists } from "../files/files.ts";
import type { Console } from "../terminal/console.ts";
import { terminalText } from "../terminal/terminal-text.ts";

export interface KeysOptions {
  readonly key?: string;
  readonly name?: string;
  readonly dir?: string;
  readonly force?: true;
  readonly json?: true;
}

/**
 * Makes, shows or changes the signing key.
 *
 * @throws CommandError for another word than `init`, `show` and `rotate`, or where no file is named.
 */
export async function keys(console: Console, what: string, options: KeysOptions): Promise<ExitCode> {
  const path = options.key ?? process.env.TOOLSPAN_SIGNING_KEY;
  if (path === undefined || path === "") {
    throw new CommandError("keys: no file is named; give --key <file> or set TOOLSPAN_SIGNING_KEY");
  }
  if (what === "init") return said(console, init(path, options), options);
  if (what !== "show" && what !== "rotate") throw new CommandError(`keys: init, show or rotate, not ${what}`);
  if (!(await exists(path))) throw new CommandError(`${path}: no such file or folder`);
  return said(console, what === "show" ? showSigningKey(path) : rotate(path, options), options);
}

function init(path: string, { name }: KeysOptions): SigningKeyFacts {
  if (name !== undefined && !/^[A-Za-z0-9._-]{1,64}$/.test(name)) {
    throw new CommandError("keys: --name takes 1 to 64 letters, digits, dots, underscores or hyphens");
  }
  return initSigningKey(path, name);
}

function rotate(path: string, { dir, force }: KeysOptions): RotatedKey {
  return rotateSigningKey(path, { ...(dir === undefined ? {} : { stateDir: dir }), force: force === true });
}

function said(console: Console, facts: SigningKeyFacts | RotatedKey, { json }: KeysOptions): ExitCode {
  const lines = json ? [JSON.stringify(factsJson(facts))] : factLines(facts).map(terminalText);
  for (const line of lines) console.out.write(`${line}\n`);
  return EXIT.ok;
}

function factsJson({ path, keyName, verifierKey, keyLog, ...more }: SigningKeyFacts | RotatedKey): object {
  const same = { path, key_name: keyName, verifier_key: verifierKey, key_log: keyLog };
  if (!("rotatedAt" in more)) return same;
  const { oldVerifierKey, rotatedAt, destroyed, kept } = more;
  return {
    ...same,
    old_verifier_key: oldVerifierKey,
    rotated_at: rotatedAt,
    destroyed,
    kept: kept.map(({ verifierKey: kept_key, logs }) => ({ verifier_key: kept_key, logs })),
  };
}

/** The verifier key stands alone in its line: it is what is copied. */
function factLines(facts: SigningKeyFacts | RotatedKey): readonly string[] {
  const { path, verifierKey, keyLog } = facts;
  if (!("rotatedAt" in facts)) return [verifierKey, `signing key: ${path}`];
  const { oldVerifierKey, destroyed, kept } = facts;
  return [
    verifierKey,
    `signing key: ${path}`,
    `follows: ${oldVerifierKey}, which says so in ${keyLog}`,
    ...destroyed.map((key) => `destroyed: the private half of ${key}`),
    ...kept.map(({ verifierKey: key, logs }) => `kept: the private half of ${key}, open under it: ${logs.join(", ")}`),
  ];
}
