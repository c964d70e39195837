// Laws of time and ids: readings never tie or go back, and ids sort by time and never repeat.
import { createClock, elapsedMs, toHrTime, toRfc3339, toUnixNano, uuidv7 } from "@toolspan/core";
import { fixedClock } from "@toolspan/core/testing";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";

afterEach(() => void vi.restoreAllMocks());

describe("a clock", () => {
  it("gives strictly increasing integers, however fast it is read", () => {
    const clock = createClock();
    const readings = Array.from({ length: 10_000 }, () => clock.now());
    expect(readings.every((reading, n) => Number.isInteger(reading) && (n === 0 || reading > (readings[n - 1] as number)))).toBe(true); // biome-ignore format: one row
  });

  it("reads the wall once: stepping it afterwards moves nothing", () => {
    const clock = createClock();
    const before = clock.now();
    const wall = Date.now();
    vi.spyOn(Date, "now").mockReturnValue(wall - 86_400_000);
    const after = clock.now();
    expect(after).toBeGreaterThan(before);
    expect(elapsedMs(before, after)).toBeLessThan(10_000);
    expect(toRfc3339(clock, after).slice(0, 10)).toBe(new Date(wall).toISOString().slice(0, 10));
  });

  it("follows a wall clock that was stepped before it was made", () => {
    const wall = Date.UTC(2031, 0, 2, 3, 4, 5, 678);
    vi.spyOn(Date, "now").mockReturnValue(wall);
    const clock = createClock();
    expect(toRfc3339(clock, 0)).toBe("2031-01-02T03:04:05.678000000Z");
  });

  it("stays within two milliseconds of the wall, and never behind its millisecond", () => {
    for (let n = 0; n < 100; n += 1) {
      const before = Date.now();
      const clock = createClock();
      const anchor = clock.anchorSeconds * 1000 + clock.anchorNanos / 1e6;
      expect(anchor).toBeGreaterThanOrEqual(before);
      expect(anchor).toBeLessThan(Date.now() + 2);
    }
  });

  it("says the same instant in every form", () => {
    const instants = fc.tuple(fc.integer({ min: 0, max: 4e9 }), fc.integer({ min: 0, max: 999 }), fc.integer({ min: 0, max: 1e13 })); // biome-ignore format: one tuple
    fc.assert(
      fc.property(instants, ([seconds, ms, reading]) => {
        const clock = fixedClock({ startAt: seconds * 1000 + ms });
        const exact = BigInt(seconds) * 1_000_000_000n + BigInt(ms) * 1_000_000n + BigInt(reading);
        const [hrSeconds, hrNanos] = toHrTime(clock, reading);
        expect(BigInt(hrSeconds) * 1_000_000_000n + BigInt(hrNanos)).toBe(exact);
        expect(hrNanos >= 0 && hrNanos < 1e9).toBe(true);
        expect(toUnixNano(clock, reading)).toBe(exact === 0n ? "0000000000" : String(exact).padStart(10, "0"));
        const text = toRfc3339(clock, reading);
        expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
        expect(BigInt(Date.parse(`${text.slice(0, 19)}Z`)) * 1_000_000n + BigInt(text.slice(20, 29))).toBe(exact);
      }),
    );
  });
});

describe("uuidv7", () => {
  it("is a version 7 UUID of its millisecond, unique, and sorted by time", () => {
    vi.spyOn(Date, "now").mockReturnValueOnce(0).mockReturnValueOnce(0x0123_4567_89ab);
    expect(uuidv7().startsWith("00000000-0000-7")).toBe(true);
    expect(uuidv7().startsWith("01234567-89ab-7")).toBe(true);
    const ids = Array.from({ length: 20_000 }, () => uuidv7());
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const times = ids.map((id) => id.slice(0, 13));
    expect(times).toEqual(times.toSorted());
  });

  it("has random bits that all move", () => {
    const ids = Array.from({ length: 500 }, () => BigInt(`0x${uuidv7().replaceAll("-", "").slice(12)}`));
    const fixed = 0xf000_c000_0000_0000_0000n; // version and variant
    const moved = ids.reduce((bits, id) => bits | (id ^ (ids[0] as bigint)), 0n);
    expect(moved & fixed).toBe(0n);
    expect(moved | fixed).toBe(0xffff_ffff_ffff_ffff_ffffn);
  });
});
