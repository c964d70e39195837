// Laws of signed heads: whom a log can be said to come from, and every way in which that is refused.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { diagnostics, ToolspanError } from "@toolspan/core";
import {
  commandSigner,
  fileSigner,
  rotateSigningKey,
  type Signer,
  type SigningKeyFacts,
  showSigningKey,
  type VerifyReport,
  verifyLog,
} from "@toolspan/receipts";
import { beforeAll, describe, expect, test } from "vitest";
import { leafHash, MerkleTree } from "../../packages/receipts/src/log/merkle.ts";
import { build } from "../support/workspace.ts";
import { runProgram } from "./crash.ts";
import { headsOf } from "./mutations.ts";
import { copyOf, linesOf, logsIn, type Recorded, recording, recordsOf, temporaryFolder } from "./parts.ts";
import { edit, newKey, policyFile, signedBy, signedLog } from "./signing.ts";

beforeAll(build);

const verdictsOf = (report: VerifyReport): readonly string[] => report.findings.map(({ verdict }) => verdict);

/** Both files of heads of the one log there. */
function editHeads(root: string, change: (text: string) => string): void {
  const receipts = join(root, "receipts");
  for (const file of headsOf(receipts)) edit(receipts, file, change);
}

const rootOf = (lines: readonly string[]): string => {
  const tree = new MerkleTree();
  for (const line of lines) tree.add(leafHash(Buffer.from(line)));
  return Buffer.from(tree.root(), "hex").toString("base64");
};

/** A head over all of `lines`, signed by the key in `path`. */
function headOver(path: string, origin: string, lines: readonly string[]): string {
  const body = `${origin}\n${lines.length}\n${rootOf(lines)}\n`;
  return `${body}\n${signedBy(path, body)}\n`;
}

const originIn = (recorded: Recorded): string =>
  readFileSync(join(recorded.receipts, headsOf(recorded.receipts)[0] as string), "utf8").split("\n")[0] as string;

describe("who wrote a log", () => {
  test("is answered by its key, as words, in a file, or in a policy", async () => {
    const key = newKey();
    const { root } = await signedLog(2, key);
    const inFile = join(temporaryFolder(), "key");
    writeFileSync(inFile, `${key.verifierKey}\n`);
    for (const trust of [key.verifierKey, inFile, policyFile({ keys: [newKey().verifierKey, key.verifierKey] })]) {
      expect(await verifyLog(root, { trust })).toMatchObject({ exitCode: 0, authenticity: "ok", findings: [] });
    }
  });

  test("is unknown without a key, and the log still consistent", async () => {
    const { root } = await signedLog(2, newKey());
    const report = await verifyLog(root);
    expect(report).toMatchObject({ exitCode: 0, authenticity: "unknown", counts: { sealed: 0 } });
    expect(report.notChecked).toContainEqual(expect.stringContaining("who wrote it"));
  });

  test("is refused to a log that somebody else has made, chain and heads and name included", async () => {
    const { root } = await signedLog(2, newKey("host-1"));
    const report = await verifyLog(root, { trust: newKey("host-1").verifierKey });
    expect(report).toMatchObject({ exitCode: 2, integrity: "ok", authenticity: "unknown" });
    expect(verdictsOf(report)).toEqual(["UNKNOWN_KEY"]);
  });

  test("is contradicted by a forgery that borrows the id of the key", async () => {
    const key = newKey();
    const forger = newKey();
    const { root } = await signedLog(2, forger);
    const [, id = ""] = key.verifierKey.split("+");
    editHeads(root, (text) =>
      text.replace(/^(— \S+ )(\S+)$/gm, (_line, start: string, encoded: string) => {
        const bytes = Buffer.from(encoded, "base64");
        bytes.write(id, "hex");
        return start + bytes.toString("base64");
      }),
    );
    const report = await verifyLog(root, { trust: key.verifierKey });
    expect(report).toMatchObject({ exitCode: 1, authenticity: "bad" });
    expect(verdictsOf(report)).toContain("BAD_SIGNATURE");
  });

  test("is contradicted where a line was changed and the chain and the root made anew", async () => {
    const key = newKey();
    const { root, receipts } = await signedLog(3, key);
    const [log = ""] = logsIn(receipts);
    let prev = "";
    const forged = linesOf(join(receipts, log)).map((line, i) => {
      const changed = (i === 2 ? line.replace('"attempts":1', '"attempts":2') : line).replace(
        /"prev":"[0-9a-f]{64}"/,
        `"prev":"${prev}"`,
      );
      prev = leafHash(Buffer.from(changed));
      return changed;
    });
    writeFileSync(join(receipts, log), forged.map((line) => `${line}\n`).join(""));
    expect(verdictsOf(await verifyLog(root, { trust: key.verifierKey }))).toEqual([
      "ROOT_MISMATCH",
      "ROOT_MISMATCH",
      "UNSIGNED_LINES",
    ]);
    editHeads(root, (text) => text.replace(/^[A-Za-z0-9+/]{43}=$/gm, rootOf(forged)));
    expect((await verifyLog(root)).exitCode).toBe(0); // without a key nobody can tell
    const report = await verifyLog(root, { trust: key.verifierKey });
    expect(report).toMatchObject({ exitCode: 1, integrity: "ok", authenticity: "bad" });
    expect(verdictsOf(report)).toEqual(["BAD_SIGNATURE", "BAD_SIGNATURE"]);
  });

  test("is unknown where the signatures were stripped, and damaged where the name was left", async () => {
    const key = newKey();
    const { root } = await signedLog(2, key);
    const bare = copyOf(root);
    editHeads(bare, (text) => text.replace(/^— .*\n/gm, "").replace(/^.*toolspan\//gm, "toolspan/"));
    const report = await verifyLog(bare, { trust: key.verifierKey });
    expect(report).toMatchObject({ exitCode: 2, integrity: "ok" });
    expect(verdictsOf(report)).toEqual(["UNSIGNED_HEAD"]);
    editHeads(root, (text) => text.replace(/^— .*\n/gm, ""));
    expect(await verifyLog(root, { trust: key.verifierKey })).toMatchObject({ exitCode: 1, integrity: "bad" });
  });

  test("is unknown where there is no head at all", async () => {
    const key = newKey();
    const { root, receipts } = await signedLog(2, key);
    for (const file of headsOf(receipts)) rmSync(join(receipts, file));
    const report = await verifyLog(root, { trust: key.verifierKey });
    expect(report).toMatchObject({ exitCode: 2, authenticity: "unknown" });
    expect(verdictsOf(report)).toContain("UNSIGNED_LINES");
  });

  test("is unknown of an empty folder", async () => {
    const report = await verifyLog(temporaryFolder(), { trust: newKey().verifierKey });
    expect(report).toMatchObject({ exitCode: 2, authenticity: "unknown" });
  });
});

describe("a note with many signatures", () => {
  test("holds by the known key among sixteen strange ones, wherever it stands", async () => {
    const key = newKey();
    const recorded = await signedLog(2, key);
    const strange = Array.from({ length: 16 }, (_, i) => signedBy(newKey(`witness-${i}`).path, "x"));
    for (const first of [true, false]) {
      const root = copyOf(recorded.root);
      editHeads(root, (text) =>
        text.replace(/^— .*$/gm, (own) => (first ? [own, ...strange] : [...strange, own]).join("\n")),
      );
      expect(await verifyLog(root, { trust: key.verifierKey })).toMatchObject({ exitCode: 0, authenticity: "ok" });
    }
  });

  test("is refused as a whole when one known key's signature is bad", async () => {
    const key = newKey();
    const { root } = await signedLog(2, key);
    const bad = signedBy(key.path, "something else");
    editHeads(root, (text) => text.replace(/^— .*$/gm, (own) => `${own}\n${bad}`));
    const report = await verifyLog(root, { trust: key.verifierKey });
    expect(report.exitCode).toBe(1);
    expect(verdictsOf(report)).toContain("BAD_SIGNATURE");
  });

  test("is not held by a trusted key that is not the log's own", async () => {
    const witness = newKey("witness");
    const { root } = await signedLog(2, newKey());
    editHeads(root, (text) => {
      const body = text.slice(0, text.indexOf("\n\n") + 1);
      return text.replace(/^— .*$/gm, (own) => `${own}\n${signedBy(witness.path, body)}`);
    });
    expect(verdictsOf(await verifyLog(root, { trust: witness.verifierKey }))).toEqual(["UNKNOWN_KEY"]);
  });
});

describe("heads of one log that cannot all be true", () => {
  test("two signed ones of one size are a fork", async () => {
    const key = newKey();
    const recorded = await signedLog(2, key);
    const lines = linesOf(join(recorded.receipts, logsIn(recorded.receipts)[0] as string));
    const other = headOver(key.path, originIn(recorded), [...lines.slice(0, -1), "another end"]);
    const all = headsOf(recorded.receipts).find((name) => name.endsWith(".heads")) as string;
    edit(recorded.receipts, all, (text) => text + other);
    const report = await verifyLog(recorded.root, { trust: key.verifierKey });
    expect(report).toMatchObject({ exitCode: 1, authenticity: "bad" });
    expect(verdictsOf(report)).toContain("FORKED");
    expect(verdictsOf(await verifyLog(recorded.root))).toEqual(["HEAD_DAMAGED"]);
  });

  test("a signed latest head with another root is a fork, and so is one over more lines than the closed log has", async () => {
    const key = newKey();
    for (const more of [["another end"], ["another end", "and one more"]]) {
      const recorded = await signedLog(2, key);
      const lines = linesOf(join(recorded.receipts, logsIn(recorded.receipts)[0] as string));
      const latest = headsOf(recorded.receipts).find((name) => name.endsWith(".head")) as string;
      writeFileSync(
        join(recorded.receipts, latest),
        headOver(key.path, originIn(recorded), [...lines.slice(0, -1), ...more]),
      );
      const report = await verifyLog(recorded.root, { trust: key.verifierKey });
      expect(report.exitCode).toBe(1);
      expect(verdictsOf(report)).toContain("FORKED");
    }
  });

  test("lines rolled back below a signed head are truncated; with the heads rolled back as well, the log is unclosed", async () => {
    const key = newKey();
    const recorded = recording({ signer: fileSigner(key.path) });
    await recorded.call();
    await recorded.dispatch.flush();
    const early = copyOf(recorded.root);
    await recorded.call();
    await recorded.close();
    const [log = ""] = logsIn(recorded.receipts);
    const mixed = copyOf(recorded.root);
    cpSync(join(early, "receipts", log), join(mixed, "receipts", log));
    expect(verdictsOf(await verifyLog(mixed, { trust: key.verifierKey }))).toContain("TRUNCATED");
    const report = await verifyLog(early, { trust: key.verifierKey });
    expect(report.exitCode).toBe(2);
    expect(verdictsOf(report)).toEqual(["UNCLOSED"]);
  });

  test("a head of another log of the same key does not fit", async () => {
    const key = newKey();
    const { root, receipts } = await signedLog(2, key);
    const other = await signedLog(2, key);
    const [from] = headsOf(other.receipts);
    for (const file of headsOf(receipts)) cpSync(join(other.receipts, from as string), join(receipts, file));
    expect(await verifyLog(root, { trust: key.verifierKey })).toMatchObject({ exitCode: 1 });
  });
});

describe("keys and their time", () => {
  /** A log under the first key, the change, a log under the second, all in one folder. */
  async function rotated(): Promise<{ root: string; old: SigningKeyFacts; now: SigningKeyFacts; old_pem: string }> {
    const old = newKey();
    const old_pem = readFileSync(old.path, "utf8");
    const { root } = await signedLog(2, old);
    const { path } = rotateSigningKey(old.path, { stateDir: root });
    await signedLog(2, old, { stateDir: root });
    return { root, old, now: showSigningKey(path), old_pem };
  }

  test("a change that the old key signed is followed where the policy says so, and only there", async () => {
    const { root, old, now } = await rotated();
    const trust = policyFile({ keys: [old.verifierKey], rotation: old.keyLog });
    expect(await verifyLog(root, { trust })).toMatchObject({ exitCode: 0, authenticity: "ok", findings: [] });
    expect(verdictsOf(await verifyLog(root, { trust: old.verifierKey }))).toEqual(["UNKNOWN_KEY"]);
    expect(verdictsOf(await verifyLog(root, { trust: now.verifierKey }))).toEqual(["UNKNOWN_KEY"]);
  });

  test("a newer key does not bless lines of an older one's time", async () => {
    const { root, old } = await rotated();
    const trust = policyFile({ keys: [old.verifierKey], rotation: old.keyLog });
    const [first = ""] = logsIn(join(root, "receipts")).filter((name) => name === "session.jsonl");
    const lines = linesOf(join(root, "receipts", first));
    const log = recordsOf(join(root, "receipts", first))[0]?.chain.log as string;
    for (const file of [`${log}.heads`, `${log}.head`]) {
      writeFileSync(join(root, "receipts", file), headOver(old.path, `${old.keyName}/${log}`, lines));
    }
    const report = await verifyLog(root, { trust });
    expect(report).toMatchObject({ exitCode: 1, integrity: "ok", authenticity: "bad" });
    expect(verdictsOf(report)).toEqual(["KEY_EPOCH_VIOLATION"]);
  });

  test("nor does it, when the older log's claim of its key was changed with it", async () => {
    const { root, now } = await rotated();
    const receipts = join(root, "receipts");
    // The rotation was an hour after the log: its lines are older than its key.
    const later = new Date(Date.now() + 3_600_000).toISOString().replace(/Z$/, "000000Z");
    const signer = newKey();
    const body = `toolspan key rotation\n${signer.verifierKey}\n${now.verifierKey}\n${later}\n`;
    const keyLog = join(temporaryFolder(), "key-log");
    writeFileSync(keyLog, `${body}\n${signedBy(signer.path, body)}\n`);
    const trust = policyFile({ keys: [signer.verifierKey], rotation: keyLog });
    const file = join(receipts, "session.2.jsonl");
    const report = await verifyLog(file, { trust });
    expect(verdictsOf(report)).toEqual(["KEY_EPOCH_VIOLATION"]);
    expect(report.findings[0]?.message).toContain("follows another one since");
  });

  test("an ended key does not sign what was begun after its end", async () => {
    const { root, old, old_pem } = await rotated();
    const stolen = join(temporaryFolder(), "stolen.pem");
    writeFileSync(stolen, old_pem, { mode: 0o600 });
    const body = readFileSync(old.keyLog, "utf8").split("\n").slice(0, 3);
    const earlier = [...body, "2020-01-01T00:00:00.000000000Z", ""].join("\n");
    const keyLog = join(temporaryFolder(), "key-log");
    writeFileSync(keyLog, `${earlier}\n${signedBy(stolen, earlier)}\n`);
    const trust = policyFile({ keys: [old.verifierKey], rotation: keyLog });
    const report = await verifyLog(join(root, "receipts", "session.jsonl"), { trust });
    expect(verdictsOf(report)).toEqual(["KEY_EPOCH_VIOLATION"]);
    expect(report.findings[0]?.message).toContain("its key had ended");
  });

  test("two keys in one log are one too many", async () => {
    const one = newKey();
    const other = newKey("host-1");
    const recorded = recording({ signer: fileSigner(one.path) });
    await recorded.call();
    await recorded.dispatch.flush();
    await recorded.close();
    const lines = linesOf(join(recorded.receipts, logsIn(recorded.receipts)[0] as string));
    const last = headOver(other.path, originIn(recorded), lines);
    const [all = "", latest = ""] = ["s", ""].map((end) =>
      headsOf(recorded.receipts).find((name) => name.endsWith(`.head${end}`)),
    );
    edit(recorded.receipts, all, (text) => text.slice(0, text.lastIndexOf("host-1/toolspan/")) + last);
    writeFileSync(join(recorded.receipts, latest), last);
    const report = await verifyLog(recorded.root, {
      trust: policyFile({ keys: [one.verifierKey, other.verifierKey] }),
    });
    expect(report.exitCode).toBe(1);
    expect(verdictsOf(report)).toContain("KEY_EPOCH_VIOLATION");
  });

  test("a log that was opened unsigned is not blessed by a signature that came later", async () => {
    const key = newKey();
    const recorded = await signedLog(2, key, { signer: null });
    const [log = ""] = logsIn(recorded.receipts);
    const lines = linesOf(join(recorded.receipts, log));
    const id = recordsOf(join(recorded.receipts, log))[0]?.chain.log;
    for (const file of headsOf(recorded.receipts)) {
      writeFileSync(join(recorded.receipts, file), headOver(key.path, `${key.keyName}/${id}`, lines));
    }
    expect(verdictsOf(await verifyLog(recorded.root, { trust: key.verifierKey }))).toEqual(["KEY_EPOCH_VIOLATION"]);
  });

  test("a revoked key says nothing from its time on", async () => {
    const key = newKey();
    const { root } = await signedLog(2, key);
    const policy = (from: string | null) =>
      policyFile({ keys: [key.verifierKey], revoked: [{ key: key.verifierKey, from }] });
    for (const from of ["2020-01-01T00:00:00.000000000Z", null]) {
      const report = await verifyLog(root, { trust: policy(from) });
      expect(report).toMatchObject({ exitCode: 2, authenticity: "unknown" });
      expect(verdictsOf(report)).toEqual(["REVOKED_KEY"]);
    }
    expect((await verifyLog(root, { trust: policy("2999-01-01T00:00:00.000000000Z") })).exitCode).toBe(0);
  });

  test("a key log with a bad signature, a second successor or a torn end is told", async () => {
    const { root, old, old_pem } = await rotated();
    const stolen = join(temporaryFolder(), "stolen.pem");
    writeFileSync(stolen, old_pem, { mode: 0o600 });
    const honest = readFileSync(old.keyLog, "utf8");
    const keyLog = join(temporaryFolder(), "key-log");
    const trust = policyFile({ keys: [old.verifierKey], rotation: keyLog });
    const told = async (text: string): Promise<readonly string[]> => {
      writeFileSync(keyLog, text);
      return verdictsOf(await verifyLog(root, { trust }));
    };
    expect(await told(honest)).toEqual([]);
    expect(await told(honest.replace(/^20(..)/m, "20$1").replace(/\d{9}Z/, "000000000Z"))).toContain("BAD_SIGNATURE");
    const second = `toolspan key rotation\n${old.verifierKey}\n${newKey().verifierKey}\n2027-01-15T08:00:00.000000000Z\n`;
    expect(await told(`${honest}${second}\n${signedBy(stolen, second)}\n`)).toEqual(["FORKED"]);
    expect(await told(`${honest}toolspan key rot`)).toEqual(["UNREADABLE"]);
  });

  test("a policy that is none is refused", async () => {
    const { root } = await signedLog(1, newKey());
    const key = newKey().verifierKey;
    const policies: readonly object[] = [
      {},
      { keys: [] },
      { keys: ["x"] },
      { keys: [key], rotation: "not/there" },
      { keys: [key], revoked: [{ key, from: "yesterday" }] },
      { keys: [key], extra: 1 },
    ];
    for (const trust of ["", "not/there", "a+0+b", ...policies.map(policyFile)]) {
      await expect(verifyLog(root, { trust })).rejects.toSatisfy((e) => ToolspanError.is(e, "TOOLSPAN_INVALID_OPTION"));
    }
  });
});

describe("a writer that died", () => {
  test("leaves a log that its signed successor vouches for, and one alone that nobody does", async () => {
    const root = temporaryFolder();
    const key = newKey();
    process.env.TOOLSPAN_SIGNING_KEY = key.path;
    try {
      await runProgram(["die", root]);
      await runProgram(["close", root]);
    } finally {
      delete process.env.TOOLSPAN_SIGNING_KEY;
    }
    expect(await verifyLog(root, { trust: key.verifierKey })).toMatchObject({ exitCode: 0, findings: [] });
    const alone = await verifyLog(join(root, "receipts", "session.jsonl"), { trust: key.verifierKey });
    expect(alone.exitCode).toBe(2);
    expect(verdictsOf(alone)).toEqual(["UNSIGNED_LINES"]);
  });

  test("under no key is not vouched for by an unsigned successor", async () => {
    const root = temporaryFolder();
    await runProgram(["die", root]);
    await runProgram(["close", root]);
    const report = await verifyLog(root, { trust: newKey().verifierKey });
    expect(verdictsOf(report)).toEqual(["UNSIGNED_HEAD", "UNSIGNED_LINES"]);
  });

  test("in the middle of a head leaves a note, wherever it was cut", async () => {
    const key = newKey();
    const recorded = recording({ signer: fileSigner(key.path) });
    await recorded.call();
    await recorded.dispatch.flush();
    const first = readFileSync(join(recorded.receipts, headsOf(recorded.receipts)[0] as string), "utf8");
    await recorded.close();
    const all = headsOf(recorded.receipts).find((name) => name.endsWith(".heads")) as string;
    const latest = headsOf(recorded.receipts).find((name) => name.endsWith(".head")) as string;
    const whole = readFileSync(join(recorded.receipts, all));
    writeFileSync(join(recorded.receipts, latest), first);
    for (let cut = Buffer.byteLength(first) + 1; cut < whole.length; cut++) {
      writeFileSync(join(recorded.receipts, all), whole.subarray(0, cut));
      const report = await verifyLog(recorded.root);
      expect(
        report.notes.map(({ verdict }) => verdict),
        String(cut),
      ).toEqual(["TORN_HEAD"]);
      expect(verdictsOf(report), String(cut)).toEqual(["BEYOND_HEAD"]);
    }
  });
});

describe("signers", () => {
  test("a child process that holds the key signs, also as the process exits", async () => {
    const key = newKey();
    const script = `const { sign, createPrivateKey } = require("node:crypto"); const { readFileSync } = require("node:fs");
      process.stdout.write(sign(null, readFileSync(0), createPrivateKey(readFileSync(${JSON.stringify(key.path)}))));`;
    const signer = commandSigner({ command: [process.execPath, "-e", script], verifierKey: key.verifierKey });
    const recorded = recording({ signer });
    await recorded.call();
    await recorded.dispatch.flush();
    await recorded.call();
    await recorded.close();
    expect(await verifyLog(recorded.root, { trust: key.verifierKey })).toMatchObject({ exitCode: 0, findings: [] });
    expect(Buffer.from(signer.signNow?.(Buffer.from("x")) ?? []).length).toBe(64);
  });

  test("whose signature is none costs the signature, not the receipt, and that is said", async () => {
    const key = newKey();
    const bad: readonly Signer["sign"][] = [
      () => new Uint8Array(64),
      () => Promise.reject(new Error("the service is down")),
      () => {
        throw new Error("no key");
      },
    ];
    for (const sign of bad) {
      const said: string[] = [];
      diagnostics.reset();
      const stop = diagnostics.listen(({ kind }) => said.push(kind));
      const recorded = recording({ signer: { keyName: key.keyName, verifierKey: key.verifierKey, sign } });
      expect((await recorded.call()).ok).toBe(true);
      await recorded.close();
      stop();
      expect((await verifyLog(recorded.root)).exitCode).toBe(0);
      expect(verdictsOf(await verifyLog(recorded.root, { trust: key.verifierKey }))).toEqual(["UNSIGNED_HEAD"]);
      expect(said).toContain("unsigned_head");
    }
  });

  test("that is none is refused when the layer is made", () => {
    const key = newKey();
    const { keyName, verifierKey } = key;
    for (const signer of [
      {},
      { keyName, verifierKey },
      { keyName: "other", verifierKey, sign: () => new Uint8Array(64) },
    ]) {
      expect(() => recording({ signer: signer as Signer })).toThrow(/signer/);
    }
  });

  test("unsigned logs are what they were: their heads name no key and bear no signature", async () => {
    const recorded = recording();
    await recorded.call();
    await recorded.close();
    for (const file of headsOf(recorded.receipts)) {
      expect(readFileSync(join(recorded.receipts, file), "utf8")).toMatch(
        /^toolspan\/[0-9a-f-]{36}\n3\n[A-Za-z0-9+/]{43}=\n\n$/,
      );
    }
    expect(readdirSync(recorded.receipts)).toHaveLength(3);
  });
});
