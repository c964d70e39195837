// Laws of hash modes in receipts: one value on span and receipt, openings before lines, and erasure that leaves the chain whole.
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson } from "@toolspan/canonical";
import { committedHasher, keyedHasher, opensCommitment, plainDigest, plainHasher } from "@toolspan/canonical/hash";
import { CAUSE, createDispatcher, defineLayer, diagnostics } from "@toolspan/core";
import {
  type AuditLogOptions,
  eraseSubject,
  type LoggedReceipt,
  type OpeningLine,
  type ToolCallReceipt,
  verifyLog,
  withAuditLog,
} from "@toolspan/receipts";
import { jsonlSink, type ToolCallSpan, withTelemetry } from "@toolspan/telemetry";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { everyRecord, recording, temporaryFolder } from "./parts.ts";
import { newKey } from "./signing.ts";

const key = randomBytes(32);
const PIN = { pin: "1234" };

const openingFiles = (root: string): readonly string[] =>
  readdirSync(join(root, "openings")).filter((name) => name.endsWith(".jsonl"));
const openingsIn = (root: string): readonly OpeningLine[] =>
  openingFiles(root).flatMap((name) =>
    readFileSync(join(root, "openings", name), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as OpeningLine),
  );
const receiptsIn = (root: string): readonly LoggedReceipt[] =>
  everyRecord(join(root, "receipts")).filter((record) => record.record === "receipt");

/** A log of one PIN under `options`, closed. */
async function logOfPin(options: AuditLogOptions): Promise<{ readonly root: string; readonly receipt: LoggedReceipt }> {
  const recorded = recording(options);
  const turn = { iteration: 1, sessionId: "session" };
  await recorded.dispatch({ toolName: "check", toolArgs: PIN, callId: "c", turn }, () => "ok");
  await recorded.close();
  return { root: recorded.root, receipt: receiptsIn(recorded.root)[0] as LoggedReceipt };
}

/** What is said through diagnostics until the test ends. */
function listening(): readonly string[] {
  const said: string[] = [];
  onTestFinished(diagnostics.listen(({ source, kind }) => said.push(`${source} ${kind}`)));
  diagnostics.reset();
  return said;
}

test("the text of arguments that could not be parsed is not kept where keys are redacted, and their hash stays", async () => {
  const rawArgs = '{"password":"hunter2"';
  const kept = async (redact: readonly string[]): Promise<OpeningLine | undefined> => {
    const { root, dispatch, close } = recording({ hash: "commit-sha256", openings: "text", redact });
    await dispatch({ toolName: "login", toolArgs: undefined, rawArgs }, () => "never");
    await close();
    expect(receiptsIn(root)[0]?.args_hash).toMatch(/^commit-sha256:/);
    return openingsIn(root).find(({ field }) => field === "args_hash");
  };
  expect((await kept([]))?.text).toBe(rawArgs);
  expect(await kept(["password"])).toMatchObject({ text: null, salt: expect.stringMatching(/^[0-9a-f]{64}$/) });
});

describe("in every mode", () => {
  test.each<[string, NonNullable<AuditLogOptions["hash"]>]>([
    ["sha256", "sha256"],
    ["commit-sha256", "commit-sha256"],
    ["hmac-sha256", { mode: "hmac-sha256", key, keyId: "k1" }],
  ])("%s: span, span record and receipt bear the same hash", async (mode, hash) => {
    const stateDir = temporaryFolder();
    const records: ToolCallSpan[] = [];
    const spans = jsonlSink({ dir: join(stateDir, "spans"), env: {} });
    const sinks = [spans, (span: ToolCallSpan) => records.push(span)];
    const dispatch = createDispatcher([
      withTelemetry({ sinks, isolated: true, env: {} }),
      withAuditLog({ stateDir, hash }),
    ]);
    await dispatch({ toolName: "check", toolArgs: PIN, turn: { iteration: 1 } }, () => 1);
    await dispatch.close();
    const [receipt] = receiptsIn(stateDir);
    const [file = ""] = readdirSync(join(stateDir, "spans"));
    const onSpan = /"toolspan\.args_hash","value":\{"stringValue":"([^"]+)"/.exec(
      readFileSync(join(stateDir, "spans", file), "utf8"),
    )?.[1];
    expect(receipt?.args_hash?.startsWith(`${mode}:`)).toBe(true);
    expect(onSpan).toBe(receipt?.args_hash);
    expect(records[0]?.attributes.args_hash).toBe(receipt?.args_hash);
    expect(receipt?.executed_args_hash).toBe(receipt?.args_hash);
  });

  test("a result that repeats the arguments does not show it, unless the mode is plain", async () => {
    const echo = async (hash: NonNullable<AuditLogOptions["hash"]>): Promise<boolean> => {
      const recorded = recording({ hash });
      await recorded.call();
      await recorded.close();
      const [receipt] = receiptsIn(recorded.root);
      return receipt?.args_hash === receipt?.result_hash;
    };
    expect(await echo("sha256")).toBe(true);
    expect(await echo("commit-sha256")).toBe(false);
    expect(await echo({ mode: "hmac-sha256", key, keyId: "k" })).toBe(false);
  });

  test("the hash of arguments that a layer replaced by equal ones stays, of others it changes", async () => {
    const rewriting = (change: object) =>
      defineLayer({
        name: "with_rewrite",
        traits: { rewritesArgs: "any" },
        call: (call, next) => next({ ...call, toolArgs: { ...(call.toolArgs as object), ...change } }),
      });
    for (const [change, same] of [
      [{}, true],
      [{ extra: 1 }, false],
    ] as const) {
      const recorded = recording({ hash: "commit-sha256" }, [rewriting(change)]);
      await recorded.call();
      await recorded.close();
      const [receipt] = receiptsIn(recorded.root);
      expect(receipt?.executed_args_hash === receipt?.args_hash).toBe(same);
    }
  });
});

describe("args {pin:'1234'} against a dictionary", () => {
  test("are guessed from a plain receipt, which the default says once", async () => {
    const said = listening();
    const recorded = recording();
    await recorded.call();
    await recorded.call();
    await recorded.close();
    expect(said).toEqual(["receipts guessable_hash"]);
    const { receipt } = await logOfPin({ hash: "sha256" });
    expect(receipt.args_hash).toBe(plainDigest(PIN));
  });

  test("stand behind no hash that can be guessed in the other modes, anywhere in the state folder but the opening", async () => {
    const said = listening();
    for (const hash of ["commit-sha256", { mode: "hmac-sha256", key, keyId: "k" }] as const) {
      const { receipt } = await logOfPin({ hash });
      const candidates = Array.from({ length: 10_000 }, (_, pin) => ({ pin: String(pin).padStart(4, "0") }));
      const line = JSON.stringify(receipt);
      expect(candidates.filter((pin) => line.includes((plainDigest(pin) ?? "").slice(7)))).toEqual([]);
    }
    expect(said).toEqual([]);
  });

  test("are not warned of where plain hashing was chosen outright", async () => {
    const said = listening();
    await logOfPin({ hash: "sha256" });
    await logOfPin({ hash: plainHasher() });
    expect(said).toEqual([]);
    await logOfPin({ redact: ["token"] });
    expect(said).toEqual(["receipts guessable_hash"]);
  });
});

describe("openings", () => {
  test("open every committed hash of a receipt, and hold no argument unless that is asked for", async () => {
    const { root, receipt } = await logOfPin({ hash: "commit-sha256" });
    const openings = openingsIn(root);
    expect(openings.map(({ field, text }) => [field, text])).toEqual([
      ["args_hash", null],
      ["result_hash", null],
    ]);
    for (const { field, hash, salt, dispatch_id } of openings) {
      expect({ dispatch_id, hash }).toEqual({ dispatch_id: receipt.dispatch_id, hash: receipt[field] });
      const [text, domain] =
        field === "result_hash" ? (['"ok"', "result"] as const) : ([canonicalJson(PIN), "args"] as const);
      expect(opensCommitment(hash, { salt, text }, domain)).toBe(true);
    }
    const kept = await logOfPin({ hash: "commit-sha256", openings: "text" });
    expect(openingsIn(kept.root).map(({ text }) => text)).toEqual(['{"pin":"1234"}', '"ok"']);
  });

  test("lie in one file per subject, whose name gives nobody away, readable by this user alone", async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const recorded = recording({
      hash: { mode: "commit-sha256" },
      subject: ({ turn }) => (turn.sessionId === "one" ? "alice@example.org" : "bob@example.org"),
    });
    for (const session of ["one", "two", "three"]) await recorded.call("add", session);
    await recorded.close();
    const files = openingFiles(recorded.root);
    expect(files).toHaveLength(2);
    for (const file of files) expect(file).toMatch(/^[0-9a-f]{64}\.jsonl$/);
    for (const name of readdirSync(join(recorded.root, "openings"))) {
      expect(statSync(join(recorded.root, "openings", name)).mode & 0o777, name).toBe(0o600);
    }
    expect(statSync(join(recorded.root, "openings")).mode & 0o777).toBe(0o700);
    const other = recording({ hash: "commit-sha256", subject: () => "alice@example.org" });
    await other.call();
    await other.close();
    expect(files).not.toContain(openingFiles(other.root)[0]);
  });

  test("without a subject of the user's own there is one file per session", async () => {
    const recorded = recording({ hash: "commit-sha256" });
    for (const session of ["one", "two", "one"]) await recorded.call("add", session);
    await recorded.close();
    expect(openingFiles(recorded.root)).toHaveLength(2);
    expect(await eraseSubject("one", { stateDir: recorded.root })).toMatchObject({ openings: 4 });
  });

  test("are on disk before the line that refers to them, the intent's too", async () => {
    const recorded = recording({ hash: "commit-sha256", policy: "intent_first" });
    let before: readonly string[] = [];
    await recorded.call("add", "session", () => {
      before = openingsIn(recorded.root).map(({ hash }) => hash);
      return 1;
    });
    await recorded.close();
    const [intent] = everyRecord(recorded.receipts).filter((record) => record.record === "intent");
    expect(before).toEqual([intent?.executed_args_hash]);
    expect(openingsIn(recorded.root)).toHaveLength(2);
  });

  test("of a hasher that telemetry brought are kept all the same", async () => {
    const stateDir = temporaryFolder();
    const hasher = committedHasher();
    const dispatch = createDispatcher([withTelemetry({ sink: "noop", env: {}, hasher }), withAuditLog({ stateDir })]);
    await dispatch({ toolName: "check", toolArgs: PIN, turn: { iteration: 1 } }, () => 1);
    await dispatch.close();
    expect(openingsIn(stateDir).map(({ hash }) => hash)).toContain(receiptsIn(stateDir)[0]?.args_hash);
  });

  test("of a hundred calls at a time, streams among them, all stand once", async () => {
    const recorded = recording({ hash: "commit-sha256" });
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        recorded.call("add", `session ${i % 3}`, async function* () {
          yield i;
        }),
      ),
    );
    for (const { result } of results) for await (const _ of result as AsyncIterable<unknown>);
    await recorded.close();
    const openings = openingsIn(recorded.root).map(({ hash }) => hash);
    const wanted = receiptsIn(recorded.root).flatMap(({ args_hash, result_hash }) => [args_hash, result_hash]);
    expect([...openings].sort()).toEqual([...wanted].sort());
    expect(wanted).toHaveLength(200);
  });

  test("after a torn line are whole again", async () => {
    const { root } = await logOfPin({ hash: "commit-sha256" });
    const [file = ""] = openingFiles(root);
    const path = join(root, "openings", file);
    writeFileSync(path, readFileSync(path, "utf8").slice(0, -20));
    await logOfPin({ hash: "commit-sha256", stateDir: root });
    expect(
      readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line.endsWith("}")),
    ).toHaveLength(3);
  });
});

describe("a store of openings that fails", () => {
  test.each(["required", "intent_first"] as const)(
    "under %s withholds the result, and no line refers to it",
    async (policy) => {
      const recorded = recording({ policy, hash: "commit-sha256" });
      rmSync(join(recorded.root, "openings"), { recursive: true });
      const result = await recorded.call();
      expect(result).toMatchObject({ ok: false, status: "tool_middleware_exception" });
      await recorded.close();
      expect(receiptsIn(recorded.root)).toEqual([]);
    },
  );

  test("under required keeps the result and says why", async () => {
    const recorded = recording({ hash: "commit-sha256" });
    rmSync(join(recorded.root, "openings"), { recursive: true });
    const result = await recorded.call();
    expect(result).toMatchObject({ errorCategory: "receipt_failed", executed: true, original: { ok: true } });
    expect((result[CAUSE] as NodeJS.ErrnoException).code).toBe("ENOENT");
    await recorded.close();
  });

  test("under best_effort fails no call; the receipt is lost and counted", async () => {
    const said = listening();
    const recorded = recording({ hash: "commit-sha256", policy: "best_effort" });
    expect((await recorded.call()).status).toBe("ok");
    await recorded.dispatch.flush();
    rmSync(join(recorded.root, "openings"), { recursive: true });
    expect((await recorded.call()).status).toBe("ok");
    await recorded.close();
    expect(said).toContain("receipts lost");
    expect(receiptsIn(recorded.root)).toHaveLength(1);
  });

  test("a subject that throws, or names nobody, fails the receipt and not the program", async () => {
    const failure = new Error("no subject");
    const throwing = recording({
      hash: "commit-sha256",
      subject: () => {
        throw failure;
      },
    });
    expect((await throwing.call())[CAUSE]).toBe(failure);
    await throwing.close();
    const wrong = recording({ hash: "commit-sha256", subject: () => 7 as unknown as string });
    expect((await wrong.call())[CAUSE]).toBeInstanceOf(TypeError);
    await wrong.close();
  });

  test("a link in place of a subject's file is not followed", async () => {
    const { root } = await logOfPin({ hash: "commit-sha256" });
    const elsewhere = join(temporaryFolder(), "elsewhere");
    writeFileSync(elsewhere, "");
    const path = join(root, "openings", openingFiles(root)[0] ?? "");
    rmSync(path);
    symlinkSync(elsewhere, path);
    const recorded = recording({ hash: "commit-sha256", stateDir: root });
    expect((await recorded.call("add", "session"))[CAUSE]).toMatchObject({ code: "ELOOP" });
    expect(readFileSync(elsewhere, "utf8")).toBe("");
    await recorded.close();
  });

  test("is said when the layer is made: a key that others may read, a folder that is a file", () => {
    const root = temporaryFolder();
    mkdirSync(join(root, "openings"), { mode: 0o700 });
    writeFileSync(join(root, "openings", "subjects.key"), randomBytes(32));
    chmodSync(join(root, "openings", "subjects.key"), 0o644);
    expect(() => withAuditLog({ stateDir: root, hash: "commit-sha256" })).toThrow(/mode 644/);
    const other = temporaryFolder();
    writeFileSync(join(other, "openings"), "");
    expect(() => withAuditLog({ stateDir: other, hash: "commit-sha256" })).toThrow(/receipt store/);
  });
});

describe("erasing a subject", () => {
  async function twoSubjects(): Promise<string> {
    const recorded = recording({
      hash: "commit-sha256",
      openings: "text",
      subject: ({ turn }) => turn.sessionId ?? "",
    });
    for (const session of ["alice", "bob", "alice"]) await recorded.call("add", session);
    await recorded.close();
    return recorded.root;
  }

  test("destroys its openings and nobody else's, and logs how many", async () => {
    const root = await twoSubjects();
    const before = openingsIn(root);
    const erased = await eraseSubject("alice", { stateDir: root, reason: "request 7" });
    expect(erased.openings).toBe(4);
    expect(openingsIn(root)).toHaveLength(before.length - 4);
    expect(readdirSync(join(root, "openings"))).toHaveLength(2);
    const lines = everyRecord(join(root, "receipts")).filter((record) => record.record === "erasure");
    expect(lines).toMatchObject([{ openings: 4, dispatch_id: null, key_id: null, reason: "request 7" }]);
    expect(JSON.stringify(lines)).not.toContain("alice");
    expect(erased.line).toBe(
      `file://${join(root, "receipts/_process.jsonl")}#${lines[0]?.chain.log}:${lines[0]?.chain.seq}`,
    );
  });

  test("changes no line that was there, and all logs still verify", async () => {
    const root = await twoSubjects();
    const path = join(root, "receipts/alice.jsonl");
    const before = readFileSync(path);
    await eraseSubject("alice", { stateDir: root });
    expect(readFileSync(path)).toEqual(before);
    expect(await verifyLog(root, { strict: true })).toMatchObject({ exitCode: 0, integrity: "ok", findings: [] });
  });

  test("is signed as the logs are, and a key of no use stops it before anything is destroyed", async () => {
    const key = newKey();
    const root = await twoSubjects();
    rmSync(join(root, "receipts"), { recursive: true });
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    vi.stubEnv("TOOLSPAN_SIGNING_KEY", join(root, "no-key.pem"));
    await expect(eraseSubject("alice", { stateDir: root })).rejects.toMatchObject({ code: "TOOLSPAN_SIGNING_KEY" });
    vi.stubEnv("TOOLSPAN_SIGNING_KEY", key.path);
    expect((await eraseSubject("alice", { stateDir: root })).openings).toBe(4);
    expect(await verifyLog(root, { trust: key.verifierKey })).toMatchObject({ authenticity: "ok", findings: [] });
  });

  test("of somebody unknown, or where nothing was ever committed to, does and writes nothing", async () => {
    const root = await twoSubjects();
    const names = readdirSync(join(root, "receipts"));
    expect(await eraseSubject("carol", { stateDir: root })).toEqual({ openings: 0, line: null });
    const { root: plain } = await logOfPin({ hash: "sha256" });
    expect(await eraseSubject("session", { stateDir: plain })).toEqual({ openings: 0, line: null });
    expect(readdirSync(join(root, "receipts"))).toEqual(names);
    expect(readdirSync(plain)).toEqual(["receipts"]);
  });

  test("while its calls go on destroys what was there, and what comes later is kept again", async () => {
    const recorded = recording({ hash: "commit-sha256" });
    await recorded.call("add", "alice");
    expect((await eraseSubject("alice", { stateDir: recorded.root })).openings).toBe(2);
    expect((await recorded.call("add", "alice")).status).toBe("ok");
    expect(openingsIn(recorded.root)).toHaveLength(2);
    await recorded.close();
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0 });
  });

  test("that was interrupted is finished by the next one, with its count", async () => {
    const root = await twoSubjects();
    const openings = join(root, "openings");
    rmSync(join(root, "receipts"), { recursive: true });
    writeFileSync(join(root, "receipts"), "no folder");
    await expect(eraseSubject("alice", { stateDir: root })).rejects.toMatchObject({ code: "TOOLSPAN_RECEIPT_STORE" });
    const left = readdirSync(openings).filter((name) => name.endsWith(".erased"));
    expect(left.map((name) => statSync(join(openings, name)).size)).toEqual([0]);
    rmSync(join(root, "receipts"));
    expect((await eraseSubject("alice", { stateDir: root })).openings).toBe(4);
    expect(readdirSync(openings).filter((name) => name.endsWith(".erased"))).toEqual([]);
  });
});

describe("the option hash", () => {
  test.each<[string, unknown, RegExp]>([
    ["a word that is none", "md5", /hash must be a hasher, "sha256"/],
    [
      "a key that is short",
      { mode: "hmac-sha256", key: new Uint8Array(8), keyId: "k" },
      /hash\.key must be at least 32 bytes, received 8 bytes/,
    ],
    ["a key without a name", { mode: "hmac-sha256", key }, /hash\.keyId must be/],
    ["the keyed mode without a key", "hmac-sha256", /hash\.key must be/],
    ["nothing of use", null, /hash must be/],
  ])("refuses %s when made", (_what, hash, message) => {
    const options = { stateDir: temporaryFolder(), hash } as AuditLogOptions;
    expect(() => withAuditLog(options)).toThrow(message);
    expect(() => withAuditLog(options)).toThrow(expect.objectContaining({ code: "TOOLSPAN_INVALID_OPTION" }));
  });

  test("takes a hasher as it is, with its own redact keys", async () => {
    const hash = keyedHasher({ key, keyId: "mine", redact: ["pin"] });
    const { receipt } = await logOfPin({ hash });
    expect(receipt).toMatchObject({ args_hash: hash.value({}).hash, args_redacted: ["pin"] });
    expect(() => withAuditLog({ stateDir: temporaryFolder(), hash, redact: [] })).toThrow(/both hash and redact/);
  });

  test("gives functions the committed receipt once its openings are durable", async () => {
    const stateDir = temporaryFolder();
    const seen: [ToolCallReceipt, number][] = [];
    const sink = (receipt: ToolCallReceipt): void => void seen.push([receipt, openingsIn(stateDir).length]);
    const recorded = recording({ sink, stateDir, hash: "commit-sha256" });
    await recorded.call();
    expect(seen).toMatchObject([[{ args_hash: expect.stringMatching(/^commit-sha256:/) }, 2]]);
  });
});
