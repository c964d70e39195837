// Laws of signing keys: nobody else reads them, none is written over, and an ended one goes when its logs have closed.
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ToolspanError } from "@toolspan/core";
import {
  fileSigner,
  initSigningKey,
  rotateSigningKey,
  showSigningKey,
  verifyLog,
  withAuditLog,
} from "@toolspan/receipts";
import { afterEach, describe, expect, test } from "vitest";
import { parseKeyLog } from "../../packages/receipts/src/keys/key-log.ts";
import { recording, temporaryFolder } from "./parts.ts";
import { newKey, policyFile } from "./signing.ts";

const refused = (act: () => unknown): void => {
  expect(act).toThrow(expect.toSatisfy((error) => ToolspanError.is(error, "TOOLSPAN_SIGNING_KEY")));
};
const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const retired = (path: string): readonly string[] =>
  readdirSync(dirname(path)).filter((name) => name.includes(".retired-"));

afterEach(() => {
  delete process.env.TOOLSPAN_SIGNING_KEY;
});

describe("a key that is made", () => {
  test("is a 0600 file whatever the umask, named after its installation, and readable by openssl", () => {
    const before = process.umask(0);
    try {
      const { path, keyName, verifierKey } = newKey("agent-7");
      expect(mode(path)).toBe("600");
      expect(keyName).toBe("agent-7/toolspan");
      expect(verifierKey).toMatch(/^agent-7\/toolspan\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/);
      expect(showSigningKey(path)).toMatchObject({ keyName, verifierKey });
      expect(readFileSync(path, "utf8")).toContain("-----BEGIN PRIVATE KEY-----");
    } finally {
      process.umask(before);
    }
  });

  test("is never written over another file, nor through a link to nowhere", () => {
    const { path } = newKey();
    const held = readFileSync(path, "utf8");
    refused(() => initSigningKey(path));
    expect(readFileSync(path, "utf8")).toBe(held);
    refused(() => initSigningKey(join(temporaryFolder(), "no", "folder")));
  });

  test("has a random name of its own unless it is given one", () => {
    const folder = temporaryFolder();
    const names = [1, 2].map((n) => initSigningKey(join(folder, String(n))).keyName);
    expect(new Set(names).size).toBe(2);
    expect(() => initSigningKey(join(folder, "3"), "a b")).toThrow(/installation/);
  });
});

describe("a key file that is not private or not a key", () => {
  test.each(["640", "604", "644", "666", "660"])("of mode %s is refused when the layer is made", (wide) => {
    const { path } = newKey();
    chmodSync(path, Number.parseInt(wide, 8));
    process.env.TOOLSPAN_SIGNING_KEY = path;
    refused(() => withAuditLog({ stateDir: temporaryFolder() }));
    chmodSync(path, 0o400);
    withAuditLog({ stateDir: temporaryFolder() });
  });

  test("is refused: missing, empty, other text, a public key, RSA, a folder", () => {
    const folder = temporaryFolder();
    const file = (text: string): string => {
      const path = join(folder, `${Math.random()}`);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    };
    const rsa = execFileSync(process.execPath, [
      "-e",
      'console.log(require("node:crypto").generateKeyPairSync("rsa",{modulusLength:2048}).privateKey.export({type:"pkcs8",format:"pem"}))',
    ]).toString();
    for (const path of [join(folder, "none"), file(""), file("-----BEGIN PRIVATE KEY-----"), file(rsa), folder]) {
      refused(() => fileSigner(path));
    }
  });

  test("says nothing of its content", () => {
    const { path } = newKey();
    const secret = readFileSync(path, "utf8").split("\n")[2] as string;
    writeFileSync(path, readFileSync(path, "utf8").replace("END", "EDN"));
    try {
      fileSigner(path);
      expect.unreachable();
    } catch (error) {
      expect(`${String(error)}${String((error as Error).cause)}`).not.toContain(secret.slice(0, 8));
    }
  });
});

describe("the environment", () => {
  test("names the key of local logs, and an option outranks it", async () => {
    const key = newKey();
    process.env.TOOLSPAN_SIGNING_KEY = key.path;
    const signed = recording();
    await signed.call();
    await signed.close();
    expect(await verifyLog(signed.root, { trust: key.verifierKey })).toMatchObject({ exitCode: 0, findings: [] });
    const unsigned = recording({ signer: null });
    await unsigned.call();
    await unsigned.close();
    expect((await verifyLog(unsigned.root, { trust: key.verifierKey })).exitCode).toBe(2);
  });

  test("a PEM file of one's own has a name that follows from the key", async () => {
    const path = join(temporaryFolder(), "own.pem");
    const pem = readFileSync(newKey().path, "utf8").replace(/^toolspan.*\n/, "");
    writeFileSync(path, pem, { mode: 0o600 });
    expect(showSigningKey(path).keyName).toMatch(/^key-[0-9a-f]{16}\/toolspan$/);
    expect(showSigningKey(path)).toEqual(showSigningKey(path));
  });
});

describe("a rotation", () => {
  test("is a statement of the old key, and what is on disk of that key is destroyed", () => {
    const old = newKey();
    const stateDir = temporaryFolder();
    const rotated = rotateSigningKey(old.path, { stateDir });
    expect(rotated).toMatchObject({ keyName: old.keyName, oldVerifierKey: old.verifierKey, kept: [] });
    expect(rotated.destroyed).toEqual([old.verifierKey]);
    expect(rotated.verifierKey).not.toBe(old.verifierKey);
    expect(mode(old.path)).toBe("600");
    expect(mode(old.keyLog)).toBe("600");
    expect(readdirSync(dirname(old.path)).sort()).toEqual(["signing.pem", "signing.pem.rotations"]);
    rotateSigningKey(old.path, { stateDir });
    const { statements, damaged } = parseKeyLog(readFileSync(old.keyLog, "utf8"));
    expect(damaged).toBeNull();
    expect(statements.map(({ newKey: { text } }) => text)).toEqual([
      rotated.verifierKey,
      showSigningKey(old.path).verifierKey,
    ]);
  });

  test("lets open logs keep their key, gives the next ones the new one, and the old one goes when its logs close", async () => {
    const key = newKey();
    const recorded = recording({ signer: fileSigner(key.path) });
    const { root: stateDir } = recorded;
    await recorded.call("add", "one");
    const rotated = rotateSigningKey(key.path, { stateDir });
    expect(rotated.destroyed).toEqual([]);
    expect(rotated.kept).toEqual([{ verifierKey: key.verifierKey, logs: ["one.jsonl"] }]);
    expect(retired(key.path)).toHaveLength(1);
    await recorded.call("add", "two");
    await recorded.call("add", "one");
    await recorded.close();
    expect(retired(key.path)).toEqual([]);
    const receipts = join(stateDir, "receipts");
    const signers = ["one", "two"].map((session) =>
      JSON.parse(readFileSync(join(receipts, `${session}.jsonl`), "utf8").split("\n")[0] as string),
    );
    expect(signers.map(({ verifier_key }) => verifier_key)).toEqual([key.verifierKey, rotated.verifierKey]);
    const trust = policyFile({ keys: [key.verifierKey], rotation: key.keyLog });
    expect(await verifyLog(stateDir, { trust })).toMatchObject({ exitCode: 0, authenticity: "ok", findings: [] });
  });

  test("with force destroys the old key although a log is open", async () => {
    const key = newKey();
    const recorded = recording({ signer: fileSigner(key.path) });
    await recorded.call();
    const { destroyed } = rotateSigningKey(key.path, { stateDir: recorded.root, force: true });
    expect(destroyed).toEqual([key.verifierKey]);
    expect(retired(key.path)).toEqual([]);
    await recorded.close();
  });

  test("that died before or after its statement is finished with force, and blocks the next one without", () => {
    const key = newKey();
    const stateDir = temporaryFolder();
    const next = initSigningKey(`${key.path}.next`, "host-1");
    refused(() => rotateSigningKey(key.path, { stateDir }));
    rotateSigningKey(key.path, { stateDir, force: true }); // before: nobody named that key
    expect(readFileSync(key.keyLog, "utf8")).not.toContain(next.verifierKey);
    expect(existsSync(`${key.path}.next`)).toBe(false);
    writeFileSync(key.keyLog, `${readFileSync(key.keyLog, "utf8")}toolspan key rotation\nhost-1/too`);
    rotateSigningKey(key.path, { stateDir });
    expect(parseKeyLog(readFileSync(key.keyLog, "utf8"))).toMatchObject({ damaged: null, statements: [{}, {}] });
  });

  test("refuses a key log that is none", () => {
    const key = newKey();
    writeFileSync(key.keyLog, "some\nother\n\nfile\n");
    refused(() => rotateSigningKey(key.path, { stateDir: temporaryFolder() }));
    expect(readFileSync(key.keyLog, "utf8")).toBe("some\nother\n\nfile\n");
  });
});
