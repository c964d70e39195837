// Runs inside the worker before each file of this leg: the Node, the OpenTelemetry line and the installed packages are the ones meant.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { resolvedVersions } from "./test/support/otel-sdk.ts";

const versions = resolvedVersions();
assert.match(process.version, /^v24\./, "this leg runs on Node 24");
assert.equal(versions["@opentelemetry/api"], "1.10.0");
assert.equal(versions["@opentelemetry/sdk-trace"], "3.1.0");
assert.equal(versions["@opentelemetry/sdk-metrics"], "3.1.0");
assert.equal(versions["@opentelemetry/sdk-trace-base"], undefined, "the 2.x tracer is not installed here");
const entry = createRequire(import.meta.url).resolve("@toolspan/telemetry");
assert.equal(entry, join(process.cwd(), "node_modules/@toolspan/telemetry/dist/index.js"));
