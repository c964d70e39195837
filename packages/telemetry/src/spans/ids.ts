/** Random trace and span ids, drawn from one pool. */

const POOL_BYTES = 4096;
const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

let pool = new Uint8Array(0);
let used = 0;

/** 32 lower-case hex digits, not all zero. */
export function newTraceId(): string {
  return randomHex(16);
}

/** 16 lower-case hex digits, not all zero. */
export function newSpanId(): string {
  return randomHex(8);
}

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    pool = crypto.getRandomValues(new Uint8Array(POOL_BYTES));
    used = 0;
  }
  let hex = "";
  let bits = 0;
  for (let i = 0; i < bytes; i += 1) {
    const byte = pool[used++] as number;
    bits |= byte;
    hex += HEX[byte];
  }
  return bits === 0 ? randomHex(bytes) : hex;
}
