/** Labels that keep hashes of different domains apart. */
import type { HashDomain } from "./hasher.ts";

/** What stands before the value: `toolspan.<domain>/v1` and a zero byte, which no canonical text begins with. */
export function labelOf(domain: HashDomain): string {
  return `toolspan.${domain}/v1\0`;
}
