// Single bits of a closed log under signed heads, each flipped alone: its line or its file has to be named.
import { verifyLog } from "@toolspan/receipts";
import { expect, test } from "vitest";
import { fiftyLines } from "./fifty-lines.ts";
import { bitFlips, missedBy, ofHead } from "./mutations.ts";

/** `npm run test:mutants`: all of some 400,000 bits, in minutes; without it one in so many, evenly over bytes and bit numbers. */
const all = process.env.TOOLSPAN_TEST_EVERY_BIT !== undefined;
const timeout = all ? 3_600_000 : 240_000;

/** Declares the laws for these bits of each byte; two files share the bits, so that two processes do. */
export function bitsAreFound(bits: readonly number[]): void {
  const wanted = (every: number) => (at: number, bit: number) =>
    bits.includes(bit) && (all || (at * 8 + bit) % every === 0);

  test("every bit of its lines that is flipped is found at its line", { timeout }, async () => {
    const { root, receipts, log } = await fiftyLines(24);
    const counted = { count: 0 };
    expect(await missedBy((folder) => verifyLog(folder), root, bitFlips(receipts, log, wanted(149)), counted)).toEqual(
      [],
    );
    expect(counted.count).toBeGreaterThan(all ? 100_000 : 700);
    say(counted.count, "lines");
  });

  test("every bit of its heads that is flipped is found in its file, by those who trust its key", {
    timeout,
  }, async () => {
    const { root, receipts, heads, trust } = await fiftyLines();
    const counted = { count: 0 };
    for (const file of heads) {
      const mutations = [...bitFlips(receipts, file, wanted(19))].map(ofHead);
      expect(await missedBy((folder) => verifyLog(folder, { trust }), root, mutations, counted)).toEqual([]);
    }
    expect(counted.count).toBeGreaterThan(all ? 5_000 : 250);
    say(counted.count, "heads");
  });
}

function say(count: number, of: string): void {
  if (all) process.stdout.write(`${count} bits of ${of} flipped, one at a time: 0 missed\n`);
}
