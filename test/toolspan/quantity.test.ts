// Numbers in the form in which people read them.
import { expect, test } from "vitest";
import { count, counted, duration } from "../../packages/toolspan/src/terminal/quantity.ts";

test.each([
  [0, "0 µs"],
  [0.0844, "84 µs"],
  [0.9996, "1.00 ms"],
  [1.274, "1.27 ms"],
  [9.996, "10.0 ms"],
  [99.96, "100 ms"],
  [312.4, "312 ms"],
  [999.6, "1.00 s"],
  [4100, "4.10 s"],
  [59_996, "1 min 0 s"],
  [200_000, "3 min 20 s"],
])("%d ms reads %s", (ms, words) => expect(duration(ms)).toBe(words));

test("counts are grouped, and one is not many", () => {
  expect(count(522_143)).toBe("522,143");
  expect(counted(1, "run")).toBe("1 run");
  expect(counted(2, "run")).toBe("2 runs");
  expect(counted(0, "dispatch", "dispatches")).toBe("0 dispatches");
});
