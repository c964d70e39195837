/** UUID version 7: unique ids that sort by the time they were made. */

const POOL_BYTES = 4096;
const RANDOM_BYTES = 10;
const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

let pool = new Uint8Array(0);
let used = 0;

/**
 * Lower-case UUIDv7 of now: 48 bits of Unix milliseconds, 74 random bits.
 *
 * @source RFC 9562, section 5.7
 */
export function uuidv7(): string {
  const bytes = takeRandom();
  const millis = Date.now().toString(16).padStart(12, "0");
  const hex = (offset: number): string => HEX[bytes[offset] as number] as string;
  const version = HEX[0x70 | ((bytes[0] as number) & 0x0f)] as string;
  const variant = HEX[0x80 | ((bytes[2] as number) & 0x3f)] as string;
  return `${millis.slice(0, 8)}-${millis.slice(8)}-${version}${hex(1)}-${variant}${hex(3)}-${hex(4)}${hex(5)}${hex(6)}${hex(7)}${hex(8)}${hex(9)}`;
}

/** One call into the random source serves hundreds of ids. */
function takeRandom(): Uint8Array {
  if (used + RANDOM_BYTES > pool.length) {
    pool = crypto.getRandomValues(new Uint8Array(POOL_BYTES));
    used = 0;
  }
  used += RANDOM_BYTES;
  return pool.subarray(used - RANDOM_BYTES, used);
}
