// Laws of withRateLimit: an exact budget, also under concurrency.
import { createDispatcher } from "@toolspan/core";
import { withRateLimit } from "@toolspan/middleware/with-rate-limit";
import { expect, it } from "vitest";
import { dispatchOnce, layerContract, optionContract, outcomeRecorder } from "../support/layer-contract.ts";

layerContract("with_rate_limit", {
  pass: () => withRateLimit({ maxCalls: 1000 }),
  stop: { make: () => withRateLimit({ maxCalls: 0 }), status: "rate_limited", layerStatus: "rate_limited" },
});

optionContract("withRateLimit", [
  ["options", () => withRateLimit(undefined as never)],
  ["maxCalls", () => withRateLimit({} as never)],
  ["maxCalls", () => withRateLimit({ maxCalls: -1 })],
  ["maxCalls", () => withRateLimit({ maxCalls: 1.5 })],
  ["maxCalls", () => withRateLimit({ maxCalls: Number.POSITIVE_INFINITY })],
  ["perTool", () => withRateLimit({ maxCalls: 1, perTool: [] as never })],
  ["perTool.search", () => withRateLimit({ maxCalls: 1, perTool: { search: "2" as never } })],
  ["max_calls", () => withRateLimit({ maxCalls: 1, max_calls: 1 } as never)],
]);

it("lets exactly the budget through when a hundred calls come at once", async () => {
  const recorder = outcomeRecorder();
  const dispatch = createDispatcher([recorder, withRateLimit({ maxCalls: 37 })]);
  let ran = 0;
  const results = await Promise.all(
    Array.from({ length: 100 }, () =>
      dispatch({ toolName: "t" }, async () => {
        await Promise.resolve();
        ran += 1;
      }),
    ),
  );
  expect([ran, results.filter(({ status }) => status === "rate_limited").length]).toEqual([37, 63]);
  const counts = recorder.outcomes.flatMap(({ runs }) => runs).map(({ attributes }) => attributes?.count as number);
  expect(counts.toSorted((a, b) => a - b)).toEqual([
    ...Array.from({ length: 37 }, (_, i) => i + 1),
    ...new Array(63).fill(37),
  ]);
});

it("of one call admits exactly one of a hundred that come at once", async () => {
  const dispatch = createDispatcher([withRateLimit({ maxCalls: 1 })]);
  let ran = 0;
  const results = await Promise.all(Array.from({ length: 100 }, () => dispatch({ toolName: "t" }, async () => ++ran)));
  expect([ran, results.filter(({ ok }) => ok).length]).toEqual([1, 1]);
});

it("counts a tool against its own cap as well, and a refused call against none", async () => {
  const dispatch = createDispatcher([withRateLimit({ maxCalls: 3, perTool: { search: 1 } })]);
  const statuses = [];
  for (const toolName of ["search", "search", "read", "read", "read"]) {
    statuses.push((await dispatch({ toolName }, () => 1)).status);
  }
  expect(statuses).toEqual(["ok", "rate_limited", "ok", "ok", "rate_limited"]);
});

it("says count and cap of the budget that decided", async () => {
  const layer = withRateLimit({ maxCalls: 5, perTool: { search: 1 } });
  const seen = [];
  for (const toolName of ["search", "search"]) {
    const { runs } = await dispatchOnce([layer], { toolName }, () => 1);
    seen.push(runs[0]?.attributes);
  }
  expect(seen).toEqual([
    { count: 1, cap: 5 },
    { count: 1, cap: 1 },
  ]);
});

it("is shared by every dispatcher that lists it", async () => {
  const layer = withRateLimit({ maxCalls: 1 });
  const first = await createDispatcher([layer])({ toolName: "t" }, () => 1);
  const second = await createDispatcher([layer])({ toolName: "t" }, () => 1);
  expect([first.status, second.status]).toEqual(["ok", "rate_limited"]);
});

it("counts each attempt of a retry", async () => {
  const dispatch = createDispatcher([
    async (call, next) => {
      await next(call);
      return next(call);
    },
    withRateLimit({ maxCalls: 1 }),
  ]);
  expect((await dispatch({ toolName: "t" }, () => 1)).status).toBe("rate_limited");
});
