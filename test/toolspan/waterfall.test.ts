// The waterfall: nesting, order, place in time, and outcome of every span, as a picture.
import { expect, test } from "vitest";
import { selfMs, toSpanTrees } from "../../packages/toolspan/src/show/span-tree.ts";
import { spansOfLine } from "../../packages/toolspan/src/show/trace-span.ts";
import { waterfall } from "../../packages/toolspan/src/show/waterfall.ts";
import { noPaint } from "../../packages/toolspan/src/terminal/paint.ts";

interface Drawn {
  readonly id: string;
  readonly parent?: string;
  readonly name: string;
  /** Microseconds since the start of the trace. */
  readonly from: number;
  readonly to: number;
  readonly failed?: boolean;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
}

function line(spans: readonly Drawn[]): string {
  const at = (micros: number): string => String(1_764_513_600_000_000_000n + BigInt(micros) * 1000n);
  const value = (of: string | number | boolean): object =>
    typeof of === "string" ? { stringValue: of } : typeof of === "boolean" ? { boolValue: of } : { doubleValue: of };
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [{ key: "service.instance.id", value: { stringValue: "one" } }] },
        scopeSpans: [
          {
            scope: { name: "test" },
            spans: spans.map(({ id, parent, name, from, to, failed, attributes = {} }) => ({
              traceId: "a".repeat(32),
              spanId: id,
              ...(parent === undefined ? {} : { parentSpanId: parent }),
              name,
              startTimeUnixNano: at(from),
              endTimeUnixNano: at(to),
              attributes: Object.entries(attributes).map(([key, of]) => ({ key, value: value(of) })),
              status: failed === true ? { code: 2 } : {},
            })),
          },
        ],
      },
    ],
  });
}

const RUN: readonly Drawn[] = [
  { id: "r", name: "invoke_agent airline", from: 0, to: 4000 },
  { id: "m", parent: "r", name: "chat gpt-4o", from: 100, to: 1000 },
  {
    id: "t2",
    parent: "r",
    name: "execute_tool book",
    from: 2500,
    to: 3900,
    failed: true,
    attributes: { "toolspan.status": "error", "error.type": "tool_error" },
  },
  { id: "t1", parent: "r", name: "execute_tool find", from: 1000, to: 2500, attributes: { "toolspan.status": "ok" } },
  {
    id: "l2",
    parent: "l1",
    name: "tool_call.with_consent",
    from: 1200,
    to: 2300,
    attributes: { "toolspan.layer.status": "approved", "toolspan.layer.self_time_ms": 0.3 },
  },
  {
    id: "l1",
    parent: "t1",
    name: "tool_call.with_timeout",
    from: 1100,
    to: 2400,
    attributes: { "toolspan.layer.status": "ok", "toolspan.layer.self_time_ms": 0.2 },
  },
  { id: "d", parent: "l2", name: "tool_call.dispatch", from: 1300, to: 2100 },
];

test("spans are nested as they ran, in the order of their starts, with durations, self time and outcome", () => {
  const trees = toSpanTrees(spansOfLine(line(RUN)) ?? []);
  expect(waterfall(trees, 110, noPaint).join("\n")).toMatchInlineSnapshot(`
    "span                                                               took      self outcome
    invoke_agent airline         ████████████████████████████████   4.00 ms    200 µs
    ├ chat gpt-4o                ████████························    900 µs    900 µs
    ├ execute_tool find          ········████████████············   1.50 ms    200 µs ok
    │ └ tool_call.with_timeout   ········███████████·············   1.30 ms    200 µs ok
    │   └ tool_call.with_consent ·········█████████··············   1.10 ms    300 µs approved
    │     └ tool_call.dispatch   ··········███████···············    800 µs    800 µs
    └ execute_tool book          ····················███████████·   1.40 ms   1.40 ms error, tool_error"
  `);
});

test("self time is a span's own: its children's union is taken off once, however they overlap", () => {
  const [root] = toSpanTrees(
    spansOfLine(
      line([
        { id: "r", name: "root", from: 0, to: 100 },
        { id: "a", parent: "r", name: "a", from: 10, to: 60 },
        { id: "b", parent: "r", name: "b", from: 40, to: 80 },
        { id: "c", parent: "r", name: "c", from: 50, to: 55 },
      ]),
    ) ?? [],
  );
  expect(root === undefined ? 0 : selfMs(root)).toBeCloseTo(0.03, 9);
});

test("a span whose parent is not there, and spans that name each other, are still drawn once", () => {
  const trees = toSpanTrees(
    spansOfLine(
      line([
        { id: "x", parent: "gone", name: "orphan", from: 0, to: 1 },
        { id: "y", name: "root", from: 2, to: 3 },
        { id: "p", parent: "q", name: "one", from: 4, to: 5 },
        { id: "q", parent: "p", name: "two", from: 6, to: 7 },
        { id: "s", parent: "s", name: "itself", from: 8, to: 9 },
      ]),
    ) ?? [],
  );
  expect(waterfall(trees, 100, noPaint).map((drawn) => drawn.split(/ {2,}/)[0])).toEqual([
    "span",
    "orphan",
    "root",
    "itself",
    "one",
    "└ two",
  ]);
});

test("names that would move the cursor are drawn as escapes", () => {
  const [, drawn] = waterfall(
    toSpanTrees(spansOfLine(line([{ id: "x", name: "execute_tool \u001B[31m\u202Eevil", from: 0, to: 1 }])) ?? []),
    100,
    noPaint,
  );
  expect(drawn).toContain("execute_tool \\x1b[31m\\u{202e}evil");
});

test("spans nested twenty thousand deep are drawn, each on a line that fits", () => {
  const chain = Array.from({ length: 20_000 }, (_, depth) => ({
    id: `s${depth}`,
    ...(depth === 0 ? {} : { parent: `s${depth - 1}` }),
    name: "again",
    from: depth,
    to: 40_000 - depth,
  }));
  const drawn = waterfall(toSpanTrees(spansOfLine(line(chain)) ?? []), 100, noPaint);
  expect(drawn).toHaveLength(20_001);
  expect(drawn.filter((each) => [...each].length > 100)).toEqual([]);
});

test("a line that is no export of spans holds none", () => {
  for (const text of ["", "{", "[]", "{}", '{"record":"receipt"}', '{"resourceMetrics":[]}']) {
    expect(spansOfLine(text)).toBeUndefined();
  }
  expect(spansOfLine('{"resourceSpans":[{"scopeSpans":[{"spans":[7,null]}]}]}')).toEqual([]);
});

test("no line is wider than the screen, as long as names have their twenty columns", () => {
  const trees = toSpanTrees(spansOfLine(line(RUN)) ?? []);
  for (const columns of [80, 100, 160]) {
    for (const drawn of waterfall(trees, columns, noPaint)) expect([...drawn].length).toBeLessThanOrEqual(columns);
  }
});
