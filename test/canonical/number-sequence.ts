/** The deterministic sequence of doubles whose text has published checksums (cyberphone/json-canonicalization, `testdata/README.md`). */
import { createHash } from "node:crypto";

/** SHA-256 of the first so many lines `<hex of the double>,<its text>\n`, as published there. */
export const PUBLISHED_CHECKSUMS: ReadonlyMap<number, string> = new Map([
  [1_000, "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687"],
  [10_000, "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892"],
  [100_000, "22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7"],
  [1_000_000, "49415fee2c56c77864931bd3624faad425c3c577d6d74e89a83bc725506dad16"],
]);

/** @param edges IEEE 754 bits of what the sequence opens with. */
export function* numberSequence(edges: readonly string[]): Generator<number> {
  yield* edges.map(doubleOf);
  for (let i = 0n; i < 2000n; i++) yield doubleOf((0x0010000000000000n + i).toString(16));
  for (let block = Buffer.alloc(32); ; ) {
    block = createHash("sha256").update(block).digest();
    for (let at = 0; at < block.length; at += 8) {
      const double = block.readDoubleLE(at);
      if (double !== 0 && Number.isFinite(double)) yield double;
    }
  }
}

/** The double with these bits. */
export function doubleOf(hex: string): number {
  return Buffer.from(hex.padStart(16, "0"), "hex").readDoubleBE();
}

const eight = Buffer.alloc(8);

/** The bits as the published lines have them: lower case, no leading zeros. */
export function hexOf(double: number): string {
  eight.writeDoubleBE(double);
  return eight.toString("hex").replace(/^0{1,15}/, "");
}
