// Laws of the wire records: their schemas, their golden forms, and that the checker says what the schemas say.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@cfworker/json-schema";
import { canonicalJson } from "@toolspan/canonical";
import { type LogRecord, RECORD_SCHEMAS, type RecordName } from "@toolspan/receipts";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { faultOf } from "../../packages/receipts/src/records/record.ts";
import { answer, gate, named, turn } from "../support/kernel-parts.ts";
import { build } from "../support/workspace.ts";
import { runProgram } from "./crash.ts";
import { erasure, heartbeat, keyRotation, prune } from "./examples.ts";
import { everyRecord, linesOf, logsIn, recording, temporaryFolder } from "./parts.ts";

const names = Object.keys(RECORD_SCHEMAS) as RecordName[];
const validators = new Map(
  names.map((name) => [name, new Validator(structuredClone(RECORD_SCHEMAS[name]), "2020-12")]),
);
const isValid = (record: { readonly record: string }): boolean =>
  validators.get(record.record as RecordName)?.validate(record).valid === true;

beforeAll(build);

/** A folder with every kind of record that is written today. */
async function everyKind(): Promise<readonly LogRecord[]> {
  const root = temporaryFolder();
  await runProgram(["die", root, "intent_first"]);
  const started = gate();
  const impatient = named("impatient", async (call, next) => {
    const inner = next(call);
    if (call.toolName !== "slow") return inner;
    await started.opened;
    return answer(call, { ok: false, status: "timeout" });
  });
  const recorded = recording({ stateDir: root, policy: "intent_first", layers: "full" }, [impatient]);
  const late = gate<number>();
  await recorded.call("add");
  await recorded.call("fail", "session", () => {
    throw new TypeError("content");
  });
  await recorded.dispatch.refuse({ toolName: "unknown", known: false }, { status: "tool_not_found" });
  await recorded.call("slow", "session", () => {
    started.open();
    return late.opened;
  });
  late.open(1);
  await turn();
  await recorded.close();
  return [...everyRecord(recorded.receipts), heartbeat, keyRotation, erasure, prune];
}

/** Ids, times and hashes as placeholders, numbered where it matters which is which. */
function normal(line: string): string {
  return line
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>")
    .replaceAll(/"boot":"[^"]+"/g, '"boot":"<boot>"')
    .replaceAll(/\d{4}-\d\d-\d\dT[0-9:.]+Z/g, "<time>")
    .replaceAll(/sha256:[0-9a-f]{64}/g, "sha256:<hash>")
    .replaceAll(/"(prev|root)":"[0-9a-f]{64}"/g, '"$1":"<hash>"')
    .replaceAll(/"(duration_ms|self_time_ms|pid)":[0-9.e-]+/g, '"$1":<number>')
    .replaceAll(/file:\/\/[^"#]+#/g, "file://<path>#");
}

describe("every record", () => {
  test("that is emitted keeps to its published schema", async () => {
    const records = await everyKind();
    for (const record of records) {
      expect(validators.get(record.record)?.validate(record), JSON.stringify(record)).toMatchObject({ valid: true });
      expect(faultOf({ ...record })).toBeNull();
    }
  });

  test("has its golden form", async () => {
    const records = await everyKind();
    for (const name of names) {
      const found = records.filter(({ record }) => record === name);
      expect(found, name).not.toEqual([]);
      const text = found.map((record) => `${normal(canonicalJson(record))}\n`).join("");
      await expect(text).toMatchFileSnapshot(`./golden/${name}.jsonl`);
    }
  });

  test("has its schema as a file of the package, equal to the exported one", () => {
    const folder = new URL("../../packages/receipts/schemas/", import.meta.url).pathname;
    if (process.env.UPDATE_SCHEMAS !== undefined) {
      for (const name of names)
        writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(RECORD_SCHEMAS[name], null, 2)}\n`);
    }
    expect(readdirSync(folder).sort()).toEqual(names.map((name) => `${name}.json`).sort());
    for (const name of names)
      expect(JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"))).toEqual(RECORD_SCHEMAS[name]);
  });
});

describe("the verifier's own check", () => {
  test("accepts and refuses what the schema does", async () => {
    const records = await everyKind();
    const junk = fc.oneof(
      fc.constantFrom<unknown>(
        null,
        "",
        "x",
        0,
        -1,
        1.5,
        2 ** 53 - 1,
        2 ** 53,
        true,
        [],
        {},
        [1],
        "ab".repeat(32),
        "2027-01-15T08:00:00.000000000Z",
      ),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...records),
        fc.nat(),
        junk,
        fc.constantFrom("set", "drop", "add", "inside"),
        (record, at, value, how) => {
          const changed: Record<string, unknown> = structuredClone({ ...record });
          const keys = Object.keys(changed).filter((key) => key !== "record" && key !== "schema_version");
          const key = keys[at % keys.length] as string;
          if (how === "set") changed[key] = value;
          if (how === "drop") delete changed[key];
          if (how === "add") changed[`extra_${key}`] = value;
          if (how === "inside" && typeof changed[key] === "object" && changed[key] !== null) {
            const inner = changed[key] as Record<string, unknown>;
            const [first] = Object.keys(inner);
            if (first !== undefined) inner[first] = value;
          }
          expect(faultOf(changed) === null, JSON.stringify(changed)).toBe(isValid(changed as never));
        },
      ),
      { numRuns: 1500 },
    );
  });

  test("cannot say anything of a record or a version that it does not know", () => {
    expect(faultOf({ ...heartbeat, record: "telegram" })).toEqual({ unknown: "record" });
    expect(faultOf({ ...heartbeat, schema_version: 2 })).toEqual({ unknown: "schema_version" });
    expect(faultOf({ ...heartbeat, schema_version: "1" })).toEqual({ field: "schema_version" });
  });
});

test("what is written is one canonical line each, by an implementation that the writer does not use", async () => {
  const recorded = recording({ layers: "full" }, [(call, next) => next(call)]);
  await recorded.call("süß \u{1f600} \u2028");
  await recorded.close();
  const [file] = logsIn(recorded.receipts);
  for (const line of linesOf(join(recorded.receipts, file as string)))
    expect(canonicalJson(JSON.parse(line))).toBe(line);
});
