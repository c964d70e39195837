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
  const at = takeRandom();
  const version = HEX[0x70 | ((pool[at] as number) & 0x0f)] as string;
  const variant = HEX[0x80 | ((pool[at + 2] as number) & 0x3f)] as string;
  const tail = hex(at + 4) + hex(at + 5) + hex(at + 6) + hex(at + 7) + hex(at + 8) + hex(at + 9);
  return `${timeText(Date.now())}-${version}${hex(at + 1)}-${variant}${hex(at + 3)}-${tail}`;
}

let lastMillis = Number.NaN;
let lastText = "";

/** The first twelve digits; written once for all ids of a millisecond. */
function timeText(millis: number): string {
  if (millis !== lastMillis) {
    const digits = millis.toString(16).padStart(12, "0");
    lastText = `${digits.slice(0, 8)}-${digits.slice(8)}`;
    lastMillis = millis;
  }
  return lastText;
}

function hex(at: number): string {
  return HEX[pool[at] as number] as string;
}

/** Where in the pool the next random bytes are; one call into the random source serves hundreds of ids. */
function takeRandom(): number {
  if (used + RANDOM_BYTES > pool.length) {
    pool = crypto.getRandomValues(new Uint8Array(POOL_BYTES));
    used = 0;
  }
  used += RANDOM_BYTES;
  return used - RANDOM_BYTES;
}
