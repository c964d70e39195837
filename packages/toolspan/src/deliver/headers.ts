/** HTTP headers as the command line takes them. */

import { CommandError } from "../command-error.ts";

/** `key=value`, each; what stands in them is never printed. @throws CommandError */
export function headersOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new CommandError("--header: expected key=value, received a text without key or =");
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    }),
  );
}
