// Laws of what somebody else may have put into the folders of delivery, openings and keys: nothing waits, nothing spins.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { build } from "../support/workspace.ts";
import { logsEndpoint } from "./endpoint.ts";
import { recording, temporaryFolder } from "./parts.ts";

const PACKAGE = new URL("../../packages/receipts/dist/index.js", import.meta.url).href;
const LIMIT_MS = 20_000;

beforeAll(build);

/** What `program` prints, in a process of its own: an event loop that stands still must not stop the test. */
async function said(program: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const text = `import { readFileSync } from "node:fs";
    import * as receipts from ${JSON.stringify(PACKAGE)};
    try { console.log(JSON.stringify(await (async () => { ${program} })())); }
    catch (error) { console.log(error.code ?? error); }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", text], { env: { ...process.env, ...env } });
  const out: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (some: string) => out.push(some));
  const stop = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  const [, signal] = await once(child, "close");
  clearTimeout(stop);
  return signal === null ? out.join("").trim() : `stopped after ${LIMIT_MS} ms`;
}

/** A state folder that was delivered once, and the endpoint's folder in it. */
async function delivered(): Promise<{ readonly send: () => Promise<string>; readonly folder: string }> {
  const { root, call, close } = recording();
  await call();
  await close();
  const { url } = await logsEndpoint();
  const options = JSON.stringify({ stateDir: root, endpoint: url, patienceMs: 5000 });
  const send = (): Promise<string> => said(`return receipts.exportReceipts(${options});`);
  await send();
  return { send, folder: join(root, "delivery", readdirSync(join(root, "delivery"))[0] as string) };
}

const plants: Readonly<Record<string, (path: string) => void>> = {
  "a pipe": (path) => execFileSync("mkfifo", [path]),
  "a link to an endless device": (path) => symlinkSync("/dev/zero", path),
  "a folder": (path) => mkdirSync(path),
};

test("a lock behind whose number none can come refuses the sender, who says what to remove", {
  timeout: 60_000,
}, async () => {
  const { send, folder } = await delivered();
  writeFileSync(
    join(folder, "lock.999999999999999"),
    JSON.stringify({ host: "h", boot: null, pid: 1, started_at: "", token: "t", released: true }),
  );
  const report = JSON.parse(await send());
  expect(report.heldBy).toContain("lock.999999999999999; remove it");
});

describe.each(Object.entries(plants))("%s", (_, plant) => {
  test("in place of a lock refuses the sender", { timeout: 60_000 }, async () => {
    const { send, folder } = await delivered();
    plant(join(folder, "lock.7"));
    expect(JSON.parse(await send()).heldBy).toContain("lock.7");
  });

  test("in place of the endpoint's facts holds nobody up", { timeout: 60_000 }, async () => {
    const { send, folder } = await delivered();
    rmSync(join(folder, "endpoint.json"));
    plant(join(folder, "endpoint.json"));
    expect(await send()).not.toContain("stopped");
  });

  test("in place of the dead letters is an error of the store", { timeout: 60_000 }, async () => {
    const { send, folder } = await delivered();
    plant(join(folder, "dead-letters.jsonl"));
    expect(await send()).toBe("TOOLSPAN_RECEIPT_STORE");
  });

  test("in place of the key of subjects is an error of the store", { timeout: 60_000 }, async () => {
    const root = temporaryFolder();
    mkdirSync(join(root, "openings"), { recursive: true, mode: 0o700 });
    plant(join(root, "openings", "subjects.key"));
    expect(await said(`return receipts.eraseSubject("x", { stateDir: ${JSON.stringify(root)} });`)).toBe(
      "TOOLSPAN_RECEIPT_STORE",
    );
  });

  test("in place of the signing key is refused", { timeout: 60_000 }, async () => {
    const path = join(temporaryFolder(), "key.pem");
    plant(path);
    expect(await said(`return receipts.fileSigner(${JSON.stringify(path)});`)).toBe("TOOLSPAN_SIGNING_KEY");
  });
});

test.each(["a pipe", "a link to an endless device"])(
  "%s in place of a cursor means that there is none: the log is sent again",
  {
    timeout: 60_000,
  },
  async (name) => {
    const { send, folder } = await delivered();
    const cursor = join(folder, readdirSync(folder).find((file) => file.endsWith(".cursor")) as string);
    rmSync(cursor);
    plants[name]?.(cursor);
    expect(JSON.parse(await send())).toMatchObject({ lines: 3, left: { lines: 0 } });
  },
);
