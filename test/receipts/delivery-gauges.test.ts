// What delivery measures: how much waits and for how long, while an endpoint is away and once it is back.
import { createDispatcher, type Meter, observerCaller } from "@toolspan/core";
import { fileSigner, withAuditLog } from "@toolspan/receipts";
import { expect, test } from "vitest";
import { OBSERVER } from "../../packages/core/src/ports/roles.ts";
import { freePort } from "../support/free-port.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { logsEndpoint } from "./endpoint.ts";
import { temporaryFolder } from "./parts.ts";
import { newKey } from "./signing.ts";

test("bytes and age grow while the endpoint is away, and are 0 once it has everything", async () => {
  const gauges = new Map<string, () => number>();
  const anchored: number[] = [];
  const meter: Meter = {
    add: (name, value, labels) => {
      if (name === "toolspan.receipts.heads" && labels?.level === "anchored") anchored.push(value);
    },
    record() {},
    gauge: (name, read) => {
      gauges.set(name, read);
      return () => {};
    },
  };
  const bytes = (): number => gauges.get("toolspan.receipts.spool.bytes")?.() ?? Number.NaN;
  const age = (): number => gauges.get("toolspan.receipts.spool.oldest_age")?.() ?? Number.NaN;
  const port = await freePort();
  const delivery = { endpoint: `http://127.0.0.1:${port}`, outside: true };
  const audit = withAuditLog({
    sink: "both",
    stateDir: temporaryFolder(),
    hash: "sha256",
    signer: fileSigner(newKey().path),
    delivery,
    flushTimeoutMs: 20_000,
  });
  const dispatch = createDispatcher([audit, observerCaller({ ...recordingObserver().caller[OBSERVER], meter })]);
  expect([bytes(), age()]).toEqual([0, 0]);

  await dispatch({ toolName: "add" }, () => 1);
  await expect.poll(bytes, { timeout: 10_000 }).toBeGreaterThan(0);
  const before = bytes();
  for (let i = 0; i < 10; i += 1) await dispatch({ toolName: "add" }, () => i);
  expect(bytes()).toBeGreaterThan(before + 10 * 100);
  await expect.poll(age, { timeout: 10_000 }).toBeGreaterThan(0);

  const endpoint = await logsEndpoint(undefined, port);
  await audit.flush();
  expect([bytes(), age()]).toEqual([0, 0]);
  expect(endpoint.taken.length).toBeGreaterThan(11);
  // One head, over all eleven receipts.
  expect(anchored).toEqual([1]);
  await audit.close();
}, 60_000);
