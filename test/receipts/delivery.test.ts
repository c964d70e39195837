// Laws of delivery: what every kind of answer means, what a cursor survives, who may send.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createDispatcher, type Meter, observerCaller } from "@toolspan/core";
import {
  type ExportOptions,
  type ExportReport,
  exportReceipts,
  fileSigner,
  verifyLog,
  withAuditLog,
} from "@toolspan/receipts";
import { describe, expect, test } from "vitest";
import { OBSERVER } from "../../packages/core/src/ports/roles.ts";
import { freePort } from "../support/free-port.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { attributeOf, headsIn, type LogsEndpoint, linesByLog, logsEndpoint, type Reply } from "./endpoint.ts";
import { closedLog, everyReceipt, linesOf, logsIn, recording, recordsOf, temporaryFolder } from "./parts.ts";
import { newKey, signedLog } from "./signing.ts";

const QUICK = { firstMs: 1, maxMs: 4 };

/** Delivers `root` to `endpoint` as the command does, with short waits. */
function deliver(root: string, { url }: { readonly url: string }, more: ExportOptions = {}): Promise<ExportReport> {
  return exportReceipts({ stateDir: root, endpoint: url, retry: QUICK, patienceMs: 10_000, ...more });
}

/** Every line of a folder of logs, in order, by log. */
function onDisk(receipts: string): ReadonlyMap<string, readonly string[]> {
  return new Map(
    logsIn(receipts).map((file) => {
      const lines = linesOf(join(receipts, file));
      return [JSON.parse(lines[0] as string).chain.log as string, lines];
    }),
  );
}

function withoutDuplicates(lines: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, readonly string[]> {
  return new Map([...lines].map(([log, all]) => [log, [...new Set(all)]]));
}

const folderOf = (root: string, { endpoint }: ExportReport): string => join(root, "delivery", endpoint);

/** Replies to the first requests as told, then with success. */
const first =
  (...replies: readonly Reply[]) =>
  (_: unknown, number: number) =>
    replies[number - 1];

describe("a state folder", () => {
  test("arrives line by line, byte for byte, in the order of each log, with its heads", async () => {
    const { root, receipts, call, close } = recording({ receiptUri: "relative" });
    for (let i = 0; i < 7; i++) await call("add", `session_${i % 3}`);
    await call('tool "with" \u2028 and 😀', "session_0", () => {
      throw new TypeError("no");
    });
    await close();
    const endpoint = await logsEndpoint();
    const report = await deliver(root, endpoint);
    expect(linesByLog(endpoint.taken)).toEqual(onDisk(receipts));
    const heads = readdirSync(receipts).filter((name) => name.endsWith(".heads"));
    const texts = heads.map((name) => readFileSync(join(receipts, name), "utf8"));
    expect([...headsIn(endpoint.taken)].sort()).toEqual(texts.sort());
    expect(report).toMatchObject({ lines: 14, heads: 3, anchored: 0, parked: 0, deadLetters: 0, heldBy: null });
    expect(report.left).toEqual({ logs: 0, lines: 0, heads: 0, bytes: 0, unreadable: 0 });
  });

  test("is described beside each line: kind, dispatch, place, time, trace, severity", async () => {
    const { root, receipts, call, close } = recording();
    await call("good");
    await call("bad", "session", () => ({ isError: true }));
    await close();
    const endpoint = await logsEndpoint();
    await deliver(root, endpoint, { serviceName: "agent", headers: { "x-key": "secret" } });
    const [request] = endpoint.requests;
    expect(request).toMatchObject({
      path: "/v1/logs",
      headers: { "content-type": "application/json", "x-key": "secret" },
    });
    expect(request?.resource).toContainEqual({ key: "service.name", value: { stringValue: "agent" } });
    const lines = endpoint.taken.filter(({ eventName }) => eventName === "toolspan.tool_call.receipt");
    expect(lines.map((record) => attributeOf(record, "toolspan.record"))).toEqual([
      "segment_open",
      "receipt",
      "receipt",
      "segment_close",
    ]);
    expect(lines.map((record) => attributeOf(record, "toolspan.seq"))).toEqual(["0", "1", "2", "3"]);
    expect(lines.map(({ severityText }) => severityText)).toEqual(["INFO", "INFO", "WARN", "INFO"]);
    const [good] = everyReceipt(receipts);
    expect(attributeOf(lines[1] as never, "toolspan.dispatch_id")).toBe(good?.dispatch_id);
    const nanos = `${Date.parse(`${good?.emitted_at.slice(0, 19)}Z`) / 1000}${good?.emitted_at.slice(20, 29)}`;
    expect(lines[1]?.timeUnixNano).toBe(nanos);
    const secrets = readdirSync(join(root, "delivery"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
    expect(secrets.join("")).not.toContain("secret");
  });

  test("is not sent twice: the next delivery goes on behind the cursor", async () => {
    const { root, receipts, call, close } = recording();
    const endpoint = await logsEndpoint();
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 5; i++) await call();
      if (round === 2) await close();
      await deliver(root, endpoint);
    }
    expect(linesByLog(endpoint.taken)).toEqual(onDisk(receipts));
    await deliver(root, endpoint);
    expect(linesByLog(endpoint.taken)).toEqual(onDisk(receipts));
  });

  test("travels in requests of at most so many bytes, a longer line alone", async () => {
    const { root, receipts, call, close } = recording();
    for (let i = 0; i < 30; i++) await call(i === 12 ? `long_${"x".repeat(9000)}` : "add");
    await close();
    const endpoint = await logsEndpoint();
    await deliver(root, endpoint, { maxBatchBytes: 6000 });
    expect(linesByLog(endpoint.taken)).toEqual(onDisk(receipts));
    for (const { bytes, records } of endpoint.requests) if (records.length > 1) expect(bytes).toBeLessThanOrEqual(6000);
    expect(endpoint.requests.length).toBeGreaterThan(5);
  });

  test("without a complete line, or without any log, is delivered at once", async () => {
    const root = temporaryFolder();
    const endpoint = await logsEndpoint();
    expect(await deliver(root, endpoint)).toMatchObject({ lines: 0, left: { lines: 0 } });
    const { receipts } = await closedLog(1, { stateDir: root });
    writeFileSync(join(receipts, "torn.jsonl"), '{"no":"end"', { mode: 0o600 });
    expect(await deliver(root, endpoint)).toMatchObject({ lines: 3, left: { lines: 0, bytes: 0 } });
  });

  test("with a line that is damaged still travels byte for byte, bytes that are not UTF-8 too", async () => {
    const { root, receipts } = await closedLog(2);
    const file = join(receipts, "session.jsonl");
    const [opening = "", ...others] = linesOf(file);
    const odd = Buffer.concat([Buffer.from(`${opening}\n{"no json\n`), Buffer.from([0xff, 0xfe, 0x0a])]);
    writeFileSync(file, Buffer.concat([odd, Buffer.from(`${others.join("\n")}\n`)]));
    const endpoint = await logsEndpoint();
    await deliver(root, endpoint);
    const [lines] = [...linesByLog(endpoint.taken).values()];
    expect(lines).toEqual([opening, '{"no json', "\u00ff\u00fe", ...others]);
  });

  test("with two files that claim one log delivers both, each once", async () => {
    const { root, receipts } = await closedLog(2);
    const lines = linesOf(join(receipts, "session.jsonl"));
    writeFileSync(join(receipts, "zz.jsonl"), `${lines.slice(0, 2).join("\n")}\n{"forged":true}\n`, { mode: 0o600 });
    const endpoint = await logsEndpoint();
    for (let i = 0; i < 3; i++) await deliver(root, endpoint);
    const [arrived] = [...linesByLog(endpoint.taken).values()];
    expect(arrived).toEqual([...lines, ...lines.slice(0, 2), '{"forged":true}']);
  });
});

describe("a compressed log", () => {
  test("is delivered like any other, on from where it was when it was plain, and leaves no copy behind", async () => {
    const { root, receipts, call, close } = recording();
    for (let i = 0; i < 4; i++) await call();
    const endpoint = await logsEndpoint();
    await deliver(root, endpoint);
    for (let i = 0; i < 4; i++) await call();
    await close();
    const expected = onDisk(receipts);
    const file = join(receipts, "session.jsonl");
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file)), { mode: 0o600 });
    expect(await deliver(root, { url: `http://127.0.0.1:${await freePort()}` }, { patienceMs: 60 })).toMatchObject({
      left: { logs: 1, lines: 10 },
    });
    rmSync(file);
    const away = await deliver(root, { url: `http://127.0.0.1:${await freePort()}` }, { patienceMs: 60 });
    expect(away).toMatchObject({ lines: 0, left: { logs: 1, lines: 10, heads: 1 } });
    const report = await deliver(root, endpoint);
    expect(report).toMatchObject({ lines: 5, heads: 1, left: { lines: 0, heads: 0 } });
    expect(linesByLog(endpoint.taken)).toEqual(expected);
    expect(await deliver(root, endpoint)).toMatchObject({ lines: 0, heads: 0 });
    expect(readdirSync(folderOf(root, report)).filter((name) => name.includes("unpacked"))).toEqual([]);
  });

  test("that is damaged holds up no other, and nobody says that the endpoint has everything", async () => {
    const { root, receipts } = await closedLog(40);
    const zipped = gzipSync(readFileSync(join(receipts, "session.jsonl")));
    await closedLog(2, { stateDir: root });
    rmSync(join(receipts, "session.jsonl"));
    writeFileSync(join(receipts, "beginning.jsonl.gz"), zipped.subarray(0, 90), { mode: 0o600 });
    const endpoint = await logsEndpoint();
    const report = await deliver(root, endpoint);
    expect(report).toMatchObject({ lines: 4, parked: 0, left: { unreadable: 1 } });
    writeFileSync(join(receipts, "session.jsonl.gz"), zipped.subarray(0, zipped.length - 200), { mode: 0o600 });
    expect((await deliver(root, endpoint)).left.unreadable).toBe(2);
  });

  test("or a plain one that is a folder, or a link, is unreadable and sends nothing of elsewhere", async () => {
    const { root, receipts } = await closedLog(2);
    const secret = join(temporaryFolder(), "secret");
    writeFileSync(secret, "secret\n");
    symlinkSync(secret, join(receipts, "link.jsonl"));
    mkdirSync(join(receipts, "folder.jsonl"));
    const endpoint = await logsEndpoint();
    expect(await deliver(root, endpoint)).toMatchObject({ lines: 4, left: { lines: 0, unreadable: 2 } });
    expect(JSON.stringify(endpoint.taken)).not.toContain("secret");
  });
});

describe("an endpoint that is away", () => {
  const reset: Reply = (response) => {
    response.socket?.destroy();
    return false;
  };
  const cut: Reply = (response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
    response.write("{");
    response.socket?.destroy();
    return false;
  };
  const html: Reply = { status: 200, body: "<html>please log in</html>", headers: { "content-type": "text/html" } };
  const unavailable = [429, 502, 503, 504].map((status): Reply => ({ status }));

  test.each<[string, readonly Reply[]]>([
    ["resets the connection", [reset, reset]],
    ["breaks off in its answer", [cut]],
    ["answers with a page that is no OTLP answer", [html]],
    ["answers 429, 502, 503 and 504", unavailable],
  ])("and %s is asked again, and everything arrives", async (_, replies) => {
    const { root, receipts } = await closedLog(5);
    const endpoint = await logsEndpoint(first(...replies));
    const report = await deliver(root, endpoint);
    expect(withoutDuplicates(linesByLog(endpoint.taken))).toEqual(onDisk(receipts));
    expect(report).toMatchObject({ lines: 7, parked: 0, left: { lines: 0 } });
    expect(endpoint.requests).toHaveLength(replies.length + 1);
  });

  test("at a refused port, then is there: nothing is lost", async () => {
    const { root, receipts } = await closedLog(5);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    let away = 0;
    let late: Promise<LogsEndpoint> | undefined;
    await deliver(root, { url }, { onAway: () => ++away === 3 && (late = logsEndpoint(undefined, port)) });
    expect(linesByLog((await late)?.taken ?? [])).toEqual(onDisk(receipts));
    expect(away).toBeGreaterThanOrEqual(3);
  });

  test.each<[string, Reply]>([
    ["never answers", () => false],
    [
      "drips its answer",
      (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const timer = setInterval(() => response.write(" "), 5);
        response.on("close", () => clearInterval(timer));
        return false;
      },
    ],
  ])("and %s is given up at the deadline of the request", async (_, reply) => {
    const { root, receipts } = await closedLog(2);
    const endpoint = await logsEndpoint(first(reply));
    const started = performance.now();
    await deliver(root, endpoint, { requestTimeoutMs: 150 });
    expect(performance.now() - started).toBeLessThan(5000);
    expect(linesByLog(endpoint.taken)).toEqual(onDisk(receipts));
  });

  test("and answers with gigabytes is read no further than an answer goes", async () => {
    const { root, receipts } = await closedLog(2);
    let sent = 0;
    const flood: Reply = (response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": String(4 * 2 ** 30) });
      const chunk = Buffer.alloc(65_536, 0x20);
      const pour = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      };
      response.on("drain", pour);
      pour();
      return false;
    };
    const endpoint = await logsEndpoint(first(flood));
    await deliver(root, endpoint);
    expect(linesByLog(endpoint.taken)).toEqual(onDisk(receipts));
    expect(sent).toBeLessThan(64 * 2 ** 20);
  });

  test.each<[string, (port: number) => string, RegExp]>([
    ["speaks no TLS", (port) => `https://127.0.0.1:${port}`, /SSL|EPROTO|ECONNRESET|UND_ERR/],
    ["has no name", () => "http://nobody.invalid:4318", /ENOTFOUND|EAI_AGAIN/],
    ["stands at a port that fetch refuses", () => "http://127.0.0.1:9", /bad port/],
  ])("that %s leaves everything where it is", async (_, urlOf, reason) => {
    const { root } = await closedLog(2);
    const plain = await logsEndpoint();
    const reasons: string[] = [];
    const stop = new AbortController();
    const onAway = (word: string): void => {
      reasons.push(word);
      stop.abort();
    };
    const report = await deliver(root, { url: urlOf(plain.port) }, { signal: stop.signal, onAway });
    expect(report).toMatchObject({ lines: 0, parked: 0, left: { lines: 4, heads: 1 } });
    expect(reasons[0]).toMatch(reason);
    expect(await deliver(root, plain)).toMatchObject({ lines: 4, heads: 1 });
  });

  test("for longer than anybody waits is given up, and says what is left", async () => {
    const { root } = await closedLog(5);
    const report = await deliver(root, { url: `http://127.0.0.1:${await freePort()}` }, { patienceMs: 100 });
    expect(report).toMatchObject({ lines: 0, parked: 0, left: { logs: 1, lines: 7, heads: 1 } });
    expect(report.left.bytes).toBe(statSync(join(root, "receipts", "session.jsonl")).size);
  });
});

describe("Retry-After", () => {
  test.each<[string, () => string, number]>([
    ["seconds", () => "1", 1000],
    ["a date", () => new Date(Date.now() + 2000).toUTCString(), 900],
  ])("in %s is waited for", async (_, header, atLeast) => {
    const { root } = await closedLog(1);
    const endpoint = await logsEndpoint((__, number) =>
      number === 1 ? { status: 503, headers: { "retry-after": header() } } : undefined,
    );
    await deliver(root, endpoint);
    const [before, after] = endpoint.requests;
    expect((after?.at ?? 0) - (before?.at ?? 0)).toBeGreaterThanOrEqual(atLeast - 5);
  });

  test.each(["0", "-5", "soon", "1e99", "", new Date(0).toUTCString()])("%j makes no hot loop", async (header) => {
    const { root, receipts } = await closedLog(1);
    const away: number[] = [];
    const busy: Reply = { status: 429, headers: { "retry-after": header } };
    const endpoint = await logsEndpoint(first(busy, busy, busy));
    await deliver(root, endpoint, { retry: { firstMs: 20, maxMs: 80 }, onAway: (_, ms) => away.push(ms) });
    expect(endpoint.requests).toHaveLength(4);
    expect(away.map((ms) => ms >= 10 && ms <= 80)).toEqual([true, true, true]);
    expect(linesByLog(endpoint.taken)).toEqual(onDisk(receipts));
  });

  test("of decades is cut to five minutes, and nothing is dropped", async () => {
    const { root } = await closedLog(1);
    const away: number[] = [];
    const stop = new AbortController();
    const onAway = (_: string, ms: number): void => {
      away.push(ms);
      stop.abort();
    };
    const endpoint = await logsEndpoint(first({ status: 503, headers: { "retry-after": "1000000000" } }));
    const report = await deliver(root, endpoint, { signal: stop.signal, onAway });
    expect(away).toEqual([300_000]);
    expect(report).toMatchObject({ lines: 0, parked: 0, left: { lines: 3 } });
  });
});

describe("an endpoint that refuses for good", () => {
  test.each([400, 401, 403, 404, 408, 500, 501])("with %i is not asked again: the lines are parked", async (status) => {
    const { root, receipts } = await closedLog(3);
    const endpoint = await logsEndpoint(first({ status }));
    const report = await deliver(root, endpoint);
    expect(endpoint.requests).toHaveLength(1);
    expect(report).toMatchObject({ lines: 0, parked: 6, deadLetters: 6, left: { lines: 0 } });
    const letters = readFileSync(join(folderOf(root, report), "dead-letters.jsonl"), "utf8")
      .trim()
      .split("\n");
    const bodies = letters.map((line) => JSON.parse(line));
    expect(bodies.map(({ reason }) => reason)).toEqual(Array(6).fill(`status ${status}`));
    expect(bodies.filter(({ kind }) => kind === "line").map(({ otlp }) => otlp.body.stringValue)).toEqual(
      linesOf(join(receipts, "session.jsonl")),
    );
  });

  test("by a redirect is not followed elsewhere", async () => {
    const { root } = await closedLog(1);
    const elsewhere = await logsEndpoint();
    const location = `${elsewhere.url}/v1/logs`;
    const endpoint = await logsEndpoint(first({ status: 307, headers: { location } }));
    expect(await deliver(root, endpoint)).toMatchObject({ parked: 4, lines: 0 });
    expect(elsewhere.requests).toHaveLength(0);
  });

  test("gets what it refused once more, in order, when asked to, and keeps what it refuses again", async () => {
    const { root, receipts } = await closedLog(8);
    const refusing = await logsEndpoint(() => ({ status: 400 }));
    await deliver(root, refusing, { maxBatchBytes: 3000 });
    await refusing.close();
    const poison = linesOf(join(receipts, "session.jsonl"))[4];
    const repaired = await logsEndpoint(
      ({ records }) => (records.some(({ body }) => body.stringValue === poison) ? { status: 400 } : undefined),
      refusing.port,
    );
    const report = await deliver(root, repaired, { deadLetters: true, maxBatchBytes: 1 });
    const [arrived] = [...linesByLog(repaired.taken).values()];
    expect(arrived).toEqual(linesOf(join(receipts, "session.jsonl")).filter((line) => line !== poison));
    expect(headsIn(repaired.taken)).toHaveLength(1);
    expect(report).toMatchObject({ lines: 9, heads: 1, parked: 1, deadLetters: 1 });
    const again = await deliver(root, repaired, { deadLetters: true });
    expect(again).toMatchObject({ lines: 0, parked: 1, deadLetters: 1 });
  });

  test("keeps dead letters that a stopped sender had no answer for", async () => {
    const { root, receipts } = await closedLog(8);
    const refusing = await logsEndpoint(() => ({ status: 400 }));
    await deliver(root, refusing);
    await refusing.close();
    const stop = new AbortController();
    const away = await logsEndpoint((_, number) => {
      if (number === 4) stop.abort();
      return number < 4 ? undefined : { status: 503 };
    }, refusing.port);
    const some = await deliver(root, away, { deadLetters: true, maxBatchBytes: 1, signal: stop.signal });
    expect(some).toMatchObject({ lines: 3, deadLetters: 8 });
    await away.close();
    const back = await logsEndpoint(undefined, refusing.port);
    expect(await deliver(root, back, { deadLetters: true })).toMatchObject({ lines: 7, heads: 1, deadLetters: 0 });
    const arrived = [...away.taken, ...back.taken];
    expect(linesByLog(arrived)).toEqual(onDisk(receipts));
  });
});

describe("a request that is too large", () => {
  test("is split until the endpoint takes it, and the next ones are smaller from the start", async () => {
    const { root, receipts } = await closedLog(64);
    const endpoint = await logsEndpoint(({ bytes }) => (bytes > 8000 ? { status: 413 } : undefined));
    const report = await deliver(root, endpoint, { maxBatchBytes: 40_000 });
    expect(linesByLog(endpoint.taken)).toEqual(onDisk(receipts));
    expect(report).toMatchObject({ lines: 66, heads: 1, parked: 0 });
  });

  test("parks the one line that is, and its neighbours arrive", async () => {
    const { root, receipts, call, close } = recording();
    for (let i = 0; i < 20; i++) await call(i === 7 ? `long_${"x".repeat(20_000)}` : "add");
    await close();
    const lines = linesOf(join(receipts, "session.jsonl"));
    const limit = lines[8]?.length ?? 0;
    const endpoint = await logsEndpoint(({ bytes }) => (bytes > limit ? { status: 413 } : undefined));
    const report = await deliver(root, endpoint);
    expect([...linesByLog(endpoint.taken).values()]).toEqual([lines.filter((_, i) => i !== 8)]);
    expect(report).toMatchObject({ parked: 1, deadLetters: 1 });
    expect(readFileSync(join(folderOf(root, report), "dead-letters.jsonl"), "utf8")).toContain('"reason":"too_large"');
  });
});

describe("a partial success", () => {
  const partial = (rejectedLogRecords: unknown, errorMessage = "no"): Reply => ({
    status: 200,
    body: JSON.stringify({ partialSuccess: { rejectedLogRecords, errorMessage } }),
  });

  test.each<[string, unknown]>([
    ["a number", 1],
    ["a string", "1"],
    ["more than there were", 99_999],
    ["no number", "some"],
    ["negative", -1],
  ])("never counts as delivered: %s; the refused line is found and parked, the others arrive", async (_, rejected) => {
    const { root, receipts } = await closedLog(12);
    const lines = linesOf(join(receipts, "session.jsonl"));
    const accepted: string[] = [];
    const endpoint = await logsEndpoint(({ records }) => {
      const bodies = records.map(({ body }) => body.stringValue ?? "");
      if (bodies.includes(lines[5] as string)) return partial(rejected);
      accepted.push(...bodies);
      return undefined;
    });
    const report = await deliver(root, endpoint);
    expect(report).toMatchObject({ lines: 13, heads: 1, parked: 1, left: { lines: 0 } });
    expect(accepted.filter((body) => body.startsWith("{"))).toEqual(lines.filter((_, i) => i !== 5));
    const letters = readFileSync(join(folderOf(root, report), "dead-letters.jsonl"), "utf8");
    expect(JSON.parse(letters).otlp.body.stringValue).toBe(lines[5]);
  });

  test("of none at all is parked whole", async () => {
    const { root } = await closedLog(12);
    const endpoint = await logsEndpoint(({ records }) => partial(String(records.length)));
    expect(await deliver(root, endpoint)).toMatchObject({ lines: 0, parked: 15 });
    expect(endpoint.requests).toHaveLength(1);
  });

  test.each([0, "0", undefined])("with %j refused and a message is delivered", async (rejected) => {
    const { root } = await closedLog(3);
    const endpoint = await logsEndpoint(() => partial(rejected, "slow down"));
    expect(await deliver(root, endpoint)).toMatchObject({ lines: 5, heads: 1, parked: 0 });
  });

  test("that is none (null, absent, empty answer) is success", async () => {
    const { root } = await closedLog(3);
    const bodies = ['{"partialSuccess":null}', "{}", "", " \n"];
    const endpoint = await logsEndpoint((_, number) => ({
      status: 200,
      body: bodies[number % bodies.length] as string,
    }));
    expect(await deliver(root, endpoint, { maxBatchBytes: 1 })).toMatchObject({ lines: 5, heads: 1, parked: 0 });
    expect(endpoint.requests).toHaveLength(6);
  });
});

describe("a cursor", () => {
  const cursorsIn = (folder: string): readonly string[] =>
    readdirSync(folder).filter((name) => name.endsWith(".cursor"));

  test.each<[string, (text: string) => string]>([
    ["is empty", () => ""],
    ["is no JSON", () => "{"],
    ["is another log's", (text) => text.replace(/"log":"....../, '"log":"ffffff')],
    ["stands in the middle of a line", (text) => text.replace(/"offset":(\d+)/, (_, at) => `"offset":${at - 5}`)],
    ["stands behind the end", (text) => text.replace(/"offset":(\d+)/, (_, at) => `"offset":${Number(at) + 9}`)],
    ["counts too many lines", (text) => text.replace(/"seq":(\d+)/, (_, at) => `"seq":${Number(at) + 1}`)],
    ["names another leaf", (text) => text.replace(/"leaf":"./, '"leaf":"g').replace('"g', '"0')],
    ["holds negative numbers", (text) => text.replace(/"offset":/, '"offset":-')],
    ["stands elsewhere among the heads", (text) => text.replace(/"to":(\d+)/, (_, at) => `"to":${Number(at) + 40}`)],
  ])("that %s is made anew: duplicates, no gap", async (_, spoil) => {
    const { root, receipts, call, close } = recording();
    for (let i = 0; i < 5; i++) await call();
    const endpoint = await logsEndpoint();
    const report = await deliver(root, endpoint);
    const folder = folderOf(root, report);
    const cursor = join(folder, cursorsIn(folder)[0] as string);
    const honest = readFileSync(cursor, "utf8");
    writeFileSync(cursor, spoil(honest));
    expect(readFileSync(cursor, "utf8")).not.toBe(honest);
    for (let i = 0; i < 5; i++) await call();
    await close();
    await deliver(root, endpoint);
    expect(withoutDuplicates(linesByLog(endpoint.taken))).toEqual(onDisk(receipts));
    const again = await deliver(root, endpoint);
    expect(again).toMatchObject({ lines: 0, heads: 0 });
  });

  test("that is newer than the log (an older copy was put back) is made anew", async () => {
    const { root, receipts, call, close } = recording();
    for (let i = 0; i < 9; i++) await call();
    await close();
    const endpoint = await logsEndpoint();
    await deliver(root, endpoint);
    const file = join(receipts, "session.jsonl");
    const lines = linesOf(file);
    truncateSync(file, Buffer.byteLength(`${lines.slice(0, 4).join("\n")}\n`));
    expect(await deliver(root, endpoint)).toMatchObject({ lines: 4 });
    appendFileSync(file, `${lines.slice(4).join("\n")}\n`);
    expect(await deliver(root, endpoint)).toMatchObject({ lines: 7 });
  });

  test("that is gone starts again", async () => {
    const { root, receipts } = await closedLog(3);
    const endpoint = await logsEndpoint();
    const report = await deliver(root, endpoint);
    for (const name of cursorsIn(folderOf(root, report))) rmSync(join(folderOf(root, report), name));
    expect(await deliver(root, endpoint)).toMatchObject({ lines: 5, heads: 1 });
    const once = onDisk(receipts);
    expect(withoutDuplicates(linesByLog(endpoint.taken))).toEqual(once);
  });

  test("is kept for each endpoint on its own", async () => {
    const { root, receipts } = await closedLog(3);
    const [one, other] = [await logsEndpoint(), await logsEndpoint()];
    await deliver(root, one);
    await deliver(root, other);
    expect(linesByLog(one.taken)).toEqual(onDisk(receipts));
    expect(linesByLog(other.taken)).toEqual(onDisk(receipts));
    expect(readdirSync(join(root, "delivery"))).toHaveLength(2);
  });

  test("and everything beside it is private", async () => {
    const { root } = await closedLog(1);
    const report = await deliver(root, await logsEndpoint(() => ({ status: 400 })));
    const folder = folderOf(root, report);
    expect((statSync(folder).mode & 0o777).toString(8)).toBe("700");
    for (const name of readdirSync(folder)) expect((statSync(join(folder, name)).mode & 0o777).toString(8)).toBe("600");
  });
});

test("an address with a query is sent to as it is, and written and printed without it", async () => {
  const { root } = await closedLog(1);
  const endpoint = await logsEndpoint();
  const report = await deliver(root, { url: `${endpoint.url}/in/v1/logs?key=secret` });
  expect(endpoint.requests[0]?.path).toBe("/in/v1/logs?key=secret");
  const written = readFileSync(join(folderOf(root, report), "endpoint.json"), "utf8");
  expect(JSON.stringify(report) + written).not.toContain("secret");
  expect(report.url).toBe(`${endpoint.url}/in/v1/logs`);
});

test("a folder of cursors that is removed while it is in use is made again: duplicates at most, and no hot loop", async () => {
  const endpoint = await logsEndpoint();
  const root = temporaryFolder();
  const log = withAuditLog({ sink: "both", stateDir: root, hash: "sha256", delivery: { endpoint: endpoint.url } });
  const dispatch = createDispatcher([log]);
  const call = () =>
    dispatch({ toolName: "work", toolArgs: {}, turn: { iteration: 1, sessionId: "session" } }, () => 1);
  await call();
  await log.flush();
  rmSync(join(root, "delivery"), { recursive: true });
  await call();
  expect(await log.flush()).toMatchObject({ lines: 0, heads: 0 });
  expect(await log.close()).toMatchObject({ lines: 0, heads: 0 });
  expect(withoutDuplicates(linesByLog(endpoint.taken))).toEqual(onDisk(join(root, "receipts")));
  expect(endpoint.requests.length).toBeLessThan(8);
});

describe("one sender", () => {
  test("at a time: a second one says who sends, and sends nothing", async () => {
    const { root, receipts } = await closedLog(3);
    let inner: Promise<ExportReport> | undefined;
    const endpoint: LogsEndpoint = await logsEndpoint(() => (response) => {
      inner ??= deliver(root, endpoint);
      void inner.then(() => response.writeHead(200).end("{}"));
      return true;
    });
    await deliver(root, endpoint);
    expect(await inner).toMatchObject({ lines: 0, heldBy: `process ${process.pid}`, left: { lines: 5 } });
    expect(linesByLog(endpoint.taken)).toEqual(onDisk(receipts));
  });

  test("that is done leaves the lock to the next", async () => {
    const { root } = await closedLog(1);
    const endpoint = await logsEndpoint();
    for (let i = 0; i < 5; i++) expect((await deliver(root, endpoint)).heldBy).toBeNull();
    const locks = readdirSync(join(root, "delivery"), { recursive: true }).filter((name) =>
      String(name).includes("lock"),
    );
    expect(locks).toHaveLength(1);
  });

  test.each<[string, object, boolean]>([
    ["a dead process", { pid: 2 ** 22 - 1 }, true],
    ["a process of another boot", { boot: "0b4f0a2e-0000-4000-8000-000000000000" }, true],
    ["an earlier process of this number", { pid: process.pid, started_at: "2020-01-01T00:00:00.000000000Z" }, true],
    ["a running process", { pid: process.ppid, started_at: null }, false],
    ["another host", { host: `sha256:${"0".repeat(64)}` }, false],
  ])("that was %s: taken over %j", async (_, change, taken) => {
    const { root } = await closedLog(1);
    const endpoint = await logsEndpoint();
    const report = await deliver(root, endpoint);
    const folder = folderOf(root, report);
    const name = readdirSync(folder).find((one) => one.startsWith("lock.")) as string;
    const holder = JSON.parse(readFileSync(join(folder, name), "utf8"));
    const other = { ...holder, token: "another", released: false, ...change };
    if (other.started_at === null) other.started_at = startOf(process.ppid);
    writeFileSync(join(folder, name), JSON.stringify(other));
    expect((await deliver(root, endpoint)).heldBy === null).toBe(taken);
  });
});

/** When a process started, from /proc as the lock reads it. */
function startOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  const boot = Number(/^btime (\d+)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1]);
  return new Date((boot + ticks / 100) * 1000).toISOString();
}

describe("an endpoint outside", () => {
  test("anchors signed heads that it has accepted; they show a tail that was cut with its heads", async () => {
    const key = newKey();
    const { root, receipts } = await signedLog(9, key);
    const endpoint = await logsEndpoint();
    const report = await deliver(root, endpoint, { outside: true });
    expect(report).toMatchObject({ heads: 1, anchored: 1 });
    const [cursor] = readdirSync(folderOf(root, report)).filter((name) => name.endsWith(".cursor"));
    expect(JSON.parse(readFileSync(join(folderOf(root, report), cursor as string), "utf8"))).toMatchObject({
      anchored: 11,
    });
    const anchors = join(temporaryFolder(), "anchors.jsonl");
    const logRecords = endpoint.taken;
    writeFileSync(anchors, `${JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })}\n`);
    const trust = key.verifierKey;
    expect(await verifyLog(root, { trust, anchors })).toMatchObject({
      exitCode: 0,
      findings: [],
      counts: { anchored: 9 },
    });
    const { log } = (recordsOf(join(receipts, "session.jsonl"))[0] as { chain: { log: string } }).chain;
    writeFileSync(
      join(receipts, "session.jsonl"),
      `${linesOf(join(receipts, "session.jsonl")).slice(0, 4).join("\n")}\n`,
    );
    for (const name of [`${log}.head`, `${log}.heads`]) rmSync(join(receipts, name));
    expect((await verifyLog(root, { trust })).exitCode).toBe(2);
    expect((await verifyLog(root, { trust, anchors })).exitCode).toBe(1);
  });

  test("anchors nothing that is unsigned, parked, or was sent to an endpoint that is not outside", async () => {
    const { root } = await closedLog(3);
    expect(await deliver(root, await logsEndpoint(), { outside: true })).toMatchObject({ heads: 1, anchored: 0 });
    const { root: signed } = await signedLog(3, newKey());
    expect(await deliver(signed, await logsEndpoint())).toMatchObject({ heads: 1, anchored: 0 });
    const refusing = await logsEndpoint(() => ({ status: 400 }));
    expect(await deliver(signed, refusing, { outside: true })).toMatchObject({ parked: 6, anchored: 0 });
  });

  test("is counted by the observer's meter, with what waits", async () => {
    const counts = new Map<string, number>();
    const gauges = new Map<string, () => number>();
    const meter: Meter = {
      add: (name, value, { level } = {}) => {
        const key = `${name} ${String(level)}`;
        counts.set(key, (counts.get(key) ?? 0) + value);
      },
      record: () => {},
      gauge: (name, read) => {
        gauges.set(name, read);
        return () => gauges.delete(name);
      },
    };
    const endpoint = await logsEndpoint();
    const log = withAuditLog({
      sink: "both",
      stateDir: temporaryFolder(),
      signer: fileSigner(newKey().path),
      delivery: { endpoint: endpoint.url, outside: true },
    });
    const dispatch = createDispatcher([log, observerCaller({ ...recordingObserver().caller[OBSERVER], meter })]);
    await dispatch({ toolName: "work", toolArgs: {}, turn: { iteration: 1 } }, () => 1);
    await log.flush();
    expect(counts.get("toolspan.receipts.heads anchored")).toBe(1);
    expect(gauges.get("toolspan.receipts.spool.bytes")?.()).toBe(0);
    expect(gauges.get("toolspan.receipts.spool.oldest_age")?.()).toBe(0);
    await log.close();
    expect(counts.get("toolspan.receipts.heads anchored")).toBe(2);
  });
});

test("an endpoint that is none is refused before anything is made", async () => {
  const root = temporaryFolder();
  const bad = [undefined, "", "nonsense", "ftp://host/", "http://user:pass@host/"];
  for (const endpoint of bad) {
    const options = endpoint === undefined ? {} : { endpoint };
    await expect(exportReceipts({ stateDir: root, ...options })).rejects.toMatchObject({
      code: "TOOLSPAN_INVALID_OPTION",
      details: { option: "endpoint" },
    });
  }
  await expect(exportReceipts({ endpoint: "http://h", headers: { "bad\nname": "topsecret" } })).rejects.toSatisfy(
    (error) => (error as { code: string }).code === "TOOLSPAN_INVALID_OPTION" && !String(error).includes("topsecret"),
  );
  expect(existsSync(join(root, "delivery"))).toBe(false);
});
