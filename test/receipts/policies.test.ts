// Laws of the policies: what a result may claim, what a failing store does to it, what sinks get, and how flushing ends.

import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { plainHasher } from "@toolspan/canonical/hash";
import {
  CAUSE,
  createDispatcher,
  defineLayer,
  diagnostics,
  type Meter,
  observerCaller,
  type ToolCaller,
  ToolspanError,
} from "@toolspan/core";
import { memorySink } from "@toolspan/core/testing";
import {
  type AuditLogOptions,
  fileSigner,
  localReceiptSink,
  type ReceiptSink,
  type ToolCallReceipt,
  verifyLog,
  withAuditLog,
} from "@toolspan/receipts";
import { describe, expect, test } from "vitest";
import { OBSERVER } from "../../packages/core/src/ports/roles.ts";
import { gate, turn } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { everyRecord, linesOf, logsIn, recording, recordsOf, temporaryFolder } from "./parts.ts";
import { newKey } from "./signing.ts";

/** Makes every write to the only log in `receipts` fail from now on: its descriptor leads to something read-only. */
function breakLog(receipts: string): void {
  const { ino } = statSync(join(receipts, logsIn(receipts)[0] as string));
  const fd = readdirSync("/proc/self/fd")
    .map(Number)
    .find((number) => statSync(`/proc/self/fd/${number}`, { throwIfNoEntry: false })?.ino === ino);
  closeSync(fd as number);
  const opened: number[] = [];
  do opened.push(openSync("/dev/null", "r"));
  while (opened.at(-1) !== fd);
  for (const other of opened) if (other !== fd) closeSync(other);
}

/** Makes every write fail from now on: the only log leads to something read-only, and no other one can be made. */
function breakStore(receipts: string): void {
  breakLog(receipts);
  renameSync(receipts, `${receipts}.away`);
  writeFileSync(receipts, "");
}

/** An observer that measures. */
function observerWith(meter: Meter): ToolCaller {
  return observerCaller({ ...recordingObserver().caller[OBSERVER], meter });
}

function measuring(): {
  readonly meter: Meter;
  readonly counts: Map<string, number>;
  readonly gauges: Map<string, () => number>;
} {
  const counts = new Map<string, number>();
  const gauges = new Map<string, () => number>();
  const meter: Meter = {
    add(name, value, attributes) {
      const key = `${name} ${attributes?.level} ${attributes?.outcome}`;
      counts.set(key, (counts.get(key) ?? 0) + value);
    },
    record(name, value) {
      expect(value).toBeGreaterThan(0);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
    gauge(name, read) {
      gauges.set(name, read);
      return () => gauges.delete(name);
    },
  };
  return { meter, counts, gauges };
}

describe("required", () => {
  test("a result names its receipt, which is on disk by then", async () => {
    const recorded = recording();
    const result = await recorded.call();
    const uri = new URL(result.audit?.receipt_uri ?? "");
    const found = recordsOf(uri.pathname).find((r) => r.record === "receipt" && `#${r.dispatch_id}` === uri.hash);
    expect(found).toMatchObject({ audit: { receipt_uri: uri.href }, status: "ok" });
    await recorded.close();
  });

  test.each<[string, (recorded: { readonly root: string; readonly receipts: string }) => void]>([
    ["the state folder is removed", ({ root }) => rmSync(root, { recursive: true })],
    ["the folder of logs is removed", ({ receipts }) => rmSync(receipts, { recursive: true })],
    ["the log is removed", ({ receipts }) => rmSync(join(receipts, "session.jsonl"))],
    ["the log is moved away", ({ receipts, root }) => renameSync(join(receipts, "session.jsonl"), join(root, "moved"))],
    [
      "another file takes the place of the log",
      ({ receipts }) => {
        rmSync(join(receipts, "session.jsonl"));
        writeFileSync(join(receipts, "session.jsonl"), "");
      },
    ],
  ])("no result refers to a receipt that nobody finds: %s", async (_how, spoil) => {
    const recorded = recording();
    const there = (uri: string | undefined): boolean => {
      const { pathname, hash } = new URL(uri as string);
      return recordsOf(pathname).some((record) => record.record === "receipt" && `#${record.dispatch_id}` === hash);
    };
    for (let i = 0; i < 20; i++) expect(there((await recorded.call()).audit?.receipt_uri)).toBe(true);
    spoil(recorded);
    const caught = await recorded.call();
    expect([caught.status, there(caught.audit?.receipt_uri)]).toEqual(["ok", true]);
    const many = await Promise.all(Array.from({ length: 20 }, () => recorded.call()));
    for (const { status, audit } of many) expect([status, there(audit?.receipt_uri)]).toEqual(["ok", true]);
    await recorded.close();
    expect(statSync(recorded.receipts).mode & 0o777).toBe(0o700);
  });

  test("a failing store withholds the result, keeps it, and says that the tool has run", async () => {
    const recorded = recording();
    await recorded.call();
    breakStore(recorded.receipts);
    const result = await recorded.call();
    expect(result).toMatchObject({
      ok: false,
      status: "tool_middleware_exception",
      errorCategory: "receipt_failed",
      executed: true,
      original: { ok: true, status: "ok", result: { count: 2 } },
    });
    expect(result.audit?.receipt_uri).toBeUndefined();
    expect((result[CAUSE] as NodeJS.ErrnoException).code).toBe("ENOTDIR");
    await recorded.close();
  });

  test("a log that fails under calls is left alone: each of them is written once more, to a new log, under its dispatch id", async () => {
    const recorded = recording();
    await recorded.call();
    breakLog(recorded.receipts);
    const results = await Promise.all(Array.from({ length: 20 }, () => recorded.call()));
    const uris = results.map(({ audit }) => audit?.receipt_uri);
    expect(uris.filter((uri) => uri?.includes("session.2.jsonl#") !== true)).toEqual([]);
    await recorded.close();
    const kept = recordsOf(join(recorded.receipts, "session.2.jsonl")).flatMap((record) =>
      record.record === "receipt" ? [[record.audit?.receipt_uri, `#${record.dispatch_id}`]] : [],
    );
    expect(kept.toSorted()).toEqual(uris.map((uri) => [uri, new URL(uri as string).hash]).toSorted());
    expect(await verifyLog(recorded.root, { strict: true })).toMatchObject({ exitCode: 0, counts: { receipts: 21 } });
  });

  test("after a failure a new log takes over and vouches for what the lost one holds", async () => {
    const recorded = recording();
    await recorded.call();
    breakLog(recorded.receipts);
    await recorded.call();
    await recorded.call();
    await recorded.close();
    const [opening, recovery] = recordsOf(join(recorded.receipts, "session.2.jsonl"));
    expect(opening).toMatchObject({ previous: { file: "session.jsonl", lines: 2, state: "crashed" } });
    expect(recovery).toMatchObject({ record: "recovery", lines: 2 });
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, counts: { receipts: 3 } });
  });

  test("a folder that is gone is made again; a file in its place fails the call with the store's error until it is away", async () => {
    const recorded = recording();
    rmSync(recorded.receipts, { recursive: true });
    expect((await recorded.call()).status).toBe("ok");
    rmSync(recorded.receipts, { recursive: true });
    writeFileSync(recorded.receipts, "");
    expect((await recorded.call()).errorCategory).toBe("receipt_failed");
    const result = await recorded.call();
    expect((result[CAUSE] as NodeJS.ErrnoException).code).toBe("ENOTDIR");
    rmSync(recorded.receipts);
    expect((await recorded.call()).status).toBe("ok");
    await recorded.close();
  });

  test("a function is awaited, and its rejection withholds the result", async () => {
    const failure = new Error("no room");
    const taken = gate<void>();
    const sink = async (receipt: ToolCallReceipt): Promise<void> => {
      if (receipt.tool_name === "fail") throw failure;
      await taken.opened;
    };
    const recorded = recording({ sink });
    let settled = false;
    const call = recorded.call().then((result) => {
      settled = true;
      return result;
    });
    await turn();
    expect(settled).toBe(false);
    taken.open();
    expect((await call).audit?.receipt_uri).toBeUndefined();
    expect((await recorded.call("fail"))[CAUSE]).toBe(failure);
    expect(existsSync(recorded.receipts)).toBe(false);
  });

  test("fifty calls at a time stand in one log in order, and share their syncs", async () => {
    const recorded = recording();
    const results = await Promise.all(Array.from({ length: 50 }, () => recorded.call()));
    expect(results.filter(({ audit }) => audit?.receipt_uri === undefined)).toEqual([]);
    await recorded.close();
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, counts: { receipts: 50, logs: 1 } });
  });
});

describe("best_effort", () => {
  test("a result claims nothing, and the receipt comes to disk by itself", async () => {
    const recorded = recording({ policy: "best_effort" });
    expect((await recorded.call()).audit?.receipt_uri).toBeUndefined();
    await expect.poll(() => linesOf(join(recorded.receipts, "session.jsonl")).length, { timeout: 5000 }).toBe(2);
    await recorded.close();
  });

  test("a failing store fails no call; what is lost is counted and said once", async () => {
    const said: string[] = [];
    const restore = diagnostics.listen(({ source, kind }) => said.push(`${source} ${kind}`));
    diagnostics.reset();
    const { meter, counts } = measuring();
    const recorded = recording({ policy: "best_effort" }, [observerWith(meter)]);
    expect((await recorded.call()).status).toBe("ok");
    await recorded.dispatch.flush();
    breakStore(recorded.receipts);
    expect((await recorded.call()).status).toBe("ok");
    expect((await recorded.call()).status).toBe("ok");
    await expect(recorded.dispatch.flush()).rejects.toMatchObject({ code: "EBADF" });
    expect(said).toContain("receipts lost");
    restore();
    expect(counts.get("toolspan.receipts.records written ok")).toBe(1);
    expect(counts.get("toolspan.receipts.records failed failed")).toBe(2);
    await recorded.close();
  });

  test("receipts of a log that fails are written once more, to a new log, and counted once", async () => {
    const { meter, counts } = measuring();
    const recorded = recording({ policy: "best_effort" }, [observerWith(meter)]);
    await recorded.call();
    await recorded.dispatch.flush();
    breakLog(recorded.receipts);
    for (let i = 0; i < 200; i++) await recorded.call();
    await recorded.dispatch.flush();
    expect(recordsOf(join(recorded.receipts, "session.2.jsonl")).filter((r) => r.record === "receipt")).toHaveLength(
      200,
    );
    expect(counts.get("toolspan.receipts.records written ok")).toBe(201);
    expect(counts.get("toolspan.receipts.records failed failed") ?? 0).toBe(0);
    await recorded.close();
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, counts: { receipts: 201 } });
  });

  test("a function that throws or rejects fails no call", async () => {
    for (const sink of [
      () => {
        throw new Error("no");
      },
      async () => {
        throw new Error("no");
      },
    ]) {
      const recorded = recording({ sink, policy: "best_effort" });
      expect((await recorded.call()).status).toBe("ok");
      await recorded.close();
    }
  });
});

describe("deferred receipts", () => {
  test("claim nothing, are on disk after a drain, and a failure stops the drain", async () => {
    const root = temporaryFolder();
    const log = withAuditLog({ stateDir: root });
    const dispatch = createDispatcher([log], { deferReceipts: true });
    const call = (): ReturnType<typeof dispatch> =>
      dispatch({ toolName: "add", turn: { iteration: 1, sessionId: "session" } }, () => 1);
    expect((await call()).audit?.receipt_uri).toBeUndefined();
    await dispatch.drain();
    expect(recordsOf(join(root, "receipts", "session.jsonl")).map(({ record }) => record)).toEqual([
      "segment_open",
      "receipt",
    ]);
    breakStore(join(root, "receipts"));
    expect(await call()).toMatchObject({ ok: true, status: "ok" });
    await expect(dispatch.drain()).rejects.toThrow();
    await dispatch.close();
  });
});

describe("intent_first", () => {
  test("the intent is durable before the handler starts, one for each attempt", async () => {
    const twice = defineLayer({
      name: "with_second_try",
      traits: { retries: true },
      call: async (call, next) => {
        await next(call);
        return next(call);
      },
    });
    const recorded = recording({ policy: "intent_first" }, [twice]);
    const seen: string[][] = [];
    await recorded.call("add", "session", () => {
      seen.push(recordsOf(join(recorded.receipts, "session.jsonl")).map(({ record }) => record));
      return 1;
    });
    expect(seen).toEqual([
      ["segment_open", "intent"],
      ["segment_open", "intent", "intent"],
    ]);
    await recorded.close();
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, counts: { intents: 2, receipts: 1 } });
  });

  test("an intent whose log fails is written once more, to a new log, before the handler starts", async () => {
    const recorded = recording({ policy: "intent_first" });
    await recorded.call();
    breakLog(recorded.receipts);
    let seen: readonly string[] = [];
    await recorded.call("add", "session", () => {
      seen = recordsOf(join(recorded.receipts, "session.2.jsonl")).map(({ record }) => record);
      return 1;
    });
    expect(seen).toEqual(["segment_open", "recovery", "intent"]);
    await recorded.close();
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, counts: { intents: 2, receipts: 2 } });
  });

  test("an intent that cannot be written keeps the handler from running", async () => {
    const recorded = recording({ policy: "intent_first" });
    await recorded.call();
    breakStore(recorded.receipts);
    let ran = false;
    const result = await recorded.call("add", "session", () => {
      ran = true;
      return 1;
    });
    expect(ran).toBe(false);
    expect(result).toMatchObject({ ok: false, executed: false });
    await recorded.close();
  });
});

describe("sinks", () => {
  test("get the same receipt, each a copy of its own, as it stands in the local log", async () => {
    const memory = memorySink<ToolCallReceipt>();
    const seen: ToolCallReceipt[] = [];
    const recorded = recording({
      sinks: [
        "local",
        (receipt) => {
          seen.push(receipt);
        },
        memory,
      ],
    });
    await recorded.call();
    await recorded.close();
    const [line] = recordsOf(join(recorded.receipts, "session.jsonl")).filter(({ record }) => record === "receipt");
    expect(seen).toEqual([line]);
    expect(memory.items).toEqual([line]);
    expect(memory.items[0]).not.toBe(seen[0]);
    expect(memory.closed).toBe(true);
  });

  test("without a local log have no place in a chain and no address", async () => {
    const seen: ToolCallReceipt[] = [];
    const recorded = recording({ sink: (receipt) => void seen.push(receipt) });
    await recorded.call();
    expect(seen).toMatchObject([{ chain: null, audit: null, status: "ok", session_id: "session" }]);
  });

  test("the local log of one session takes calls of any session, and receipts by hand", async () => {
    const stateDir = temporaryFolder();
    const sink = localReceiptSink("ledger", { stateDir, receiptUri: "relative" });
    const recorded = recording({ sink, stateDir });
    const result = await recorded.call("add", "one");
    await recorded.call("add", "two");
    expect(result.audit?.receipt_uri).toMatch(/^receipts\/ledger\.jsonl#/);
    const [, first] = recordsOf(join(recorded.receipts, "ledger.jsonl"));
    await sink({ ...(first as ToolCallReceipt), dispatch_id: "01900000-0000-7000-8000-000000000009" });
    await expect(sink({ ...(first as ToolCallReceipt), status: "fine" as "ok" })).rejects.toThrow(
      /receipt must be a receipt/,
    );
    await sink.close();
    expect(logsIn(recorded.receipts)).toEqual(["ledger.jsonl"]);
    expect(await verifyLog(stateDir)).toMatchObject({ exitCode: 0, counts: { receipts: 3 } });
  });

  test("one log for the whole process holds every session", async () => {
    const recorded = recording({ log: "process" });
    await recorded.call("add", "one");
    await recorded.call("add", "two");
    await recorded.close();
    expect(logsIn(recorded.receipts)).toEqual(["_process.jsonl"]);
    expect(recordsOf(join(recorded.receipts, "_process.jsonl"))[0]).toMatchObject({ session_id: null });
    expect(everyRecord(recorded.receipts).flatMap((r) => (r.record === "receipt" ? [r.session_id] : []))).toEqual([
      "one",
      "two",
    ]);
  });
});

describe("size", () => {
  test("of arguments and results does not matter: eleven megabytes leave a line like any other", async () => {
    const recorded = recording();
    const large = "x".repeat(11_000_000);
    await recorded.call("add", "session", () => large);
    for (let i = 0; i < 20; i++) await recorded.call();
    await recorded.close();
    const lines = linesOf(join(recorded.receipts, "session.jsonl"));
    expect(lines).toHaveLength(23);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(2048);
  });

  test("of memory does not grow with the number of receipts", { timeout: 60_000 }, async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const recorded = recording({ policy: "best_effort" });
    const used = async (calls: number): Promise<number> => {
      for (let i = 0; i < calls; i++) {
        await recorded.call();
        if (i % 200 === 0) await turn();
      }
      await recorded.dispatch.flush();
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = await used(2000);
    expect((await used(10_000)) - before).toBeLessThan(1_500_000);
    await recorded.close();
  });
});

describe("flush and close", () => {
  test("end within their time, with an error, when a function never answers", async () => {
    const recorded = recording({ sink: () => new Promise<void>(() => {}), policy: "best_effort", flushTimeoutMs: 30 });
    await recorded.call();
    await expect(recorded.dispatch.flush()).rejects.toMatchObject({ code: "TOOLSPAN_RECEIPT_STORE" });
    await expect(recorded.close()).rejects.toMatchObject({ code: "TOOLSPAN_RECEIPT_STORE" });
  });

  test("a flush puts everything so far under a head; a second close does nothing; a later call opens a new log", async () => {
    const recorded = recording({ policy: "best_effort" });
    await recorded.call();
    await recorded.dispatch.flush();
    expect((await verifyLog(recorded.root, { allowOpen: 0 })).exitCode).toBe(0);
    await recorded.close();
    await recorded.close();
    await recorded.call();
    await recorded.close();
    expect(logsIn(recorded.receipts)).toEqual(["session.2.jsonl", "session.jsonl"]);
    expect((await verifyLog(recorded.root)).exitCode).toBe(0);
  });

  test("`await using` closes", async () => {
    const stateDir = temporaryFolder();
    const log = withAuditLog({ stateDir });
    await createDispatcher([log])({ toolName: "add" }, () => 1);
    await log[Symbol.asyncDispose]();
    expect((await verifyLog(stateDir)).exitCode).toBe(0);
  });
});

describe("metrics", () => {
  test("count a receipt as sealed once a signed head covers it", async () => {
    const { meter, counts } = measuring();
    const recorded = recording({ signer: fileSigner(newKey().path) }, [observerWith(meter)]);
    for (let i = 0; i < 3; i++) await recorded.call();
    expect(counts.get("toolspan.receipts.records sealed ok")).toBeUndefined();
    await recorded.dispatch.flush();
    expect(counts.get("toolspan.receipts.records sealed ok")).toBe(3);
    await recorded.call();
    await recorded.close();
    expect(counts.get("toolspan.receipts.records sealed ok")).toBe(4);
  });

  test("count receipts by level and outcome, time the durable ones, and show what no head covers", async () => {
    const { meter, counts, gauges } = measuring();
    const recorded = recording({}, [observerWith(meter)]);
    for (let i = 0; i < 3; i++) await recorded.call();
    expect(counts.get("toolspan.receipts.records durable ok")).toBe(3);
    expect(counts.get("toolspan.receipts.durable.duration")).toBe(3);
    expect(gauges.get("toolspan.receipts.unsealed")?.()).toBe(4);
    await recorded.dispatch.flush();
    expect(gauges.get("toolspan.receipts.unsealed")?.()).toBe(0);
    breakStore(recorded.receipts);
    await recorded.call();
    expect(counts.get("toolspan.receipts.records failed failed")).toBe(1);
    await recorded.close();
    expect(gauges.size).toBe(0);
  });
});

describe("options", () => {
  test("beside a sink are refused when made, not ignored", () => {
    const make = withAuditLog as (...given: readonly unknown[]) => unknown;
    expect(() => make("local", { hash: "commit-sha256" })).toThrow(
      expect.objectContaining({
        code: "TOOLSPAN_INVALID_OPTION",
        message: "withAuditLog: its only argument must be a sink, or options with sink, received more",
      }),
    );
  });

  test.each<[string, unknown]>([
    ["cloud", "cloud"],
    ["both", { sink: "both" }],
    ["a word that is none", "nowhere"],
    ["a number", 5],
    ["null", null],
    ["no sinks", { sinks: [] }],
    ["a sink that is none", { sinks: ["local", {}] }],
    ["an unknown policy", { policy: "sometimes" }],
    ["an unknown form of layers", { layers: "none" }],
    ["an unknown log", { log: "day" }],
    ["an unknown address", { receiptUri: "short" }],
    ["redact that is no list", { redact: "token" }],
    ["redact beside a hasher", { redact: ["a"], hash: plainHasher() }],
    ["a hasher that is none", { hash: {} }],
    ["a time that is none", { flushTimeoutMs: 0 }],
    ["an empty folder name", { stateDir: "" }],
    ["intents without a local log", { sink: () => {}, policy: "intent_first" }],
  ])("are refused when made: %s", (_, options) => {
    try {
      withAuditLog(options as ReceiptSink | AuditLogOptions);
      expect.unreachable();
    } catch (error) {
      expect(ToolspanError.is(error, "TOOLSPAN_INVALID_OPTION"), String(error)).toBe(true);
      expect((error as Error).message).toMatch(/^withAuditLog: .+ must be .+, received /);
    }
  });

  test("of the sink of one session are checked as well", () => {
    const made: [unknown, object][] = [
      [5, {}],
      ["s", { layers: "some" }],
      ["s", { receiptUri: "short" }],
      ["s", { stateDir: "" }],
    ];
    for (const [id, options] of made) {
      expect(() => localReceiptSink(id as string, options)).toThrow(/^localReceiptSink: .+ must be .+, received /);
    }
  });

  test("redact keys make a hasher that serves every recorded value", async () => {
    const recorded = recording({ redact: ["token"] });
    await recorded.dispatch(
      { toolName: "add", toolArgs: { token: "t", a: 1 }, turn: { iteration: 1, sessionId: "session" } },
      () => ({
        token: "u",
        b: 1,
      }),
    );
    await recorded.close();
    const [, receipt] = recordsOf(join(recorded.receipts, "session.jsonl"));
    const plain = plainHasher();
    expect(receipt).toMatchObject({
      args_hash: plain.value({ a: 1 }).hash,
      executed_args_hash: plain.value({ a: 1 }).hash,
      args_redacted: ["token"],
      result_hash: plain.value({ b: 1 }).hash,
    });
  });

  test("the state root comes from the environment where no option names it", async () => {
    const root = temporaryFolder();
    const former = process.env.TOOLSPAN_STATE_DIR;
    process.env.TOOLSPAN_STATE_DIR = join(root, "state");
    try {
      const log = withAuditLog();
      await createDispatcher([log])({ toolName: "add" }, () => 1);
      await log.close();
    } finally {
      if (former === undefined) delete process.env.TOOLSPAN_STATE_DIR;
      else process.env.TOOLSPAN_STATE_DIR = former;
    }
    expect(logsIn(join(root, "state", "receipts"))).toEqual(["_none.jsonl"]);
  });
});
