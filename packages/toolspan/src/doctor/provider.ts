/** Checks `provider` and `resource`: whether spans have somewhere to go, and whether they say which process made them. */

import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { jsonlFiles } from "../files/files.ts";
import { asObject, asObjects, parseObject } from "../files/json.ts";
import { readLines } from "../files/read-lines.ts";
import type { Finding, Patient } from "./finding.ts";
import { variable } from "./finding.ts";
import type { Probed } from "./provider-probe.ts";

const INSTANCE = "service.instance.id";
const SWITCHES = ["OTEL_SDK_DISABLED", "TOOLSPAN_DISABLED"];

/** The module is run in a process of its own: what it prints, starts or ends is not ours. */
export async function checkProvider(patient: Patient): Promise<readonly Finding[]> {
  const off = SWITCHES.filter((name) => !["", "0", "false", "no", "off"].includes(variable(patient, name) ?? ""));
  const switched: readonly Finding[] = off.map((name) => ({
    check: "provider",
    status: "warning",
    message: `${name} is set: telemetry is off`,
  }));
  if (patient.module === undefined) {
    return [...switched, unnamed, await checkWritten(patient)];
  }
  const probed = await probe(patient.module, patient);
  return [...switched, providerFinding(probed), ...resourceFindings(probed)];
}

const unnamed: Finding = {
  check: "provider",
  status: "unknown",
  message: "not looked at; name the module that sets up telemetry: toolspan doctor dist/telemetry.js",
};

function providerFinding({ failed, tracer, meter, contextManager, api }: Probed): Finding {
  if (failed !== undefined)
    return { check: "provider", status: "problem", message: `the module cannot be loaded: ${failed}` };
  if (!tracer) {
    return {
      check: "provider",
      status: "problem",
      message:
        "the module registers no tracer provider, so the sink otel gets no spans; register an SDK, or call startTelemetry of @toolspan/telemetry/node",
    };
  }
  const missing = [...(meter ? [] : ["meter provider"]), ...(contextManager ? [] : ["context manager"])];
  if (missing.length === 0)
    return { check: "provider", status: "ok", message: `tracer and meter provider registered, API ${api}` };
  const effect = contextManager ? "metrics go nowhere" : "spans of the host do not nest";
  return {
    check: "provider",
    status: "warning",
    message: `a tracer provider, but no ${missing.join(" and no ")}: ${effect}`,
  };
}

function resourceFindings({ tracer, resource }: Probed): readonly Finding[] {
  if (!tracer) return [];
  if (resource === null)
    return [{ check: "resource", status: "unknown", message: "the provider's spans cannot be read back" }];
  return [resourceFinding(resource, "the provider's resource")];
}

/** Without a provider to ask: the newest file of spans. */
async function checkWritten({ stateFolder }: Patient): Promise<Finding> {
  const file = (await jsonlFiles(`${stateFolder}/spans`)).at(-1);
  if (file === undefined) {
    return { check: "resource", status: "unknown", message: `no spans under ${stateFolder}, and no module to ask` };
  }
  for await (const { text } of readLines(file)) {
    const [group] = asObjects(parseObject(text)?.resourceSpans);
    const attributes = asObjects(asObject(group?.resource)?.attributes);
    const said = Object.fromEntries(attributes.map(({ key, value }) => [String(key), asObject(value)?.stringValue]));
    return resourceFinding(said, file);
  }
  return { check: "resource", status: "unknown", message: `${file}: no spans in it` };
}

function resourceFinding(attributes: Readonly<Record<string, unknown>>, where: string): Finding {
  const id = attributes[INSTANCE];
  if (typeof id === "string" && id !== "")
    return { check: "resource", status: "ok", message: `${where} has ${INSTANCE}` };
  return {
    check: "resource",
    status: "warning",
    message: `${where} has no ${INSTANCE}: two processes of one service overwrite each other's metrics; set it in OTEL_RESOURCE_ATTRIBUTES, or use startTelemetry`,
  };
}

function probe(module: string, { env, project, timeoutMs }: Patient): Promise<Probed> {
  const program = fileURLToPath(import.meta.resolve("./provider-probe.js"));
  const child = spawn(process.execPath, [program, pathToFileURL(resolve(module)).href], {
    cwd: project,
    env,
    stdio: ["ignore", "ignore", "ignore", "pipe"],
    timeout: timeoutMs + STARTUP_MS,
    killSignal: "SIGKILL",
  });
  let said = "";
  (child.stdio[3] as NodeJS.ReadableStream).setEncoding("utf8").on("data", (part: string) => {
    said += part;
  });
  return new Promise((done) => {
    const failed = (why: string): void =>
      done({ failed: why, api: null, tracer: false, meter: false, contextManager: false, resource: null });
    child.on("error", ({ message }) => failed(message));
    child.on("close", (code, signal) => {
      const answer = parseObject(said);
      if (answer !== undefined) done(answer as unknown as Probed);
      else failed(signal === null ? `it ended its process with ${code}` : `it did not come to an end (${signal})`);
    });
  });
}

/** A program with many modules takes a while to load. */
const STARTUP_MS = 8000;
