// Makes 100,000 spans without a pause, flushes, and prints what became of them and what it took.
import { createDispatcher, defineLayer, diagnostics } from "@toolspan/core";
import { telemetryLost, withTelemetry } from "@toolspan/telemetry";
import { startTelemetry } from "@toolspan/telemetry/node";

const [endpoint] = process.argv.slice(2);
diagnostics.listen(() => {});
const telemetry = startTelemetry({ serviceName: "burst", metrics: false, otlp: { endpoint }, environment: {} });
const pass = (name) => defineLayer({ name, call: (call, next) => next(call) });
const dispatch = createDispatcher([withTelemetry({ sink: "otel", env: {} }), pass("with_a"), pass("with_b")]);
await dispatch({ toolName: "t" }, () => 1);
globalThis.gc();
const before = process.memoryUsage().rss;
for (let i = 1; i < 25_000; i += 1) await dispatch({ toolName: "t", toolArgs: { i }, callId: `call_${i}` }, () => i);
const held = process.memoryUsage().rss - before;
const report = await telemetry.shutdown({ timeoutMs: 30_000 });
process.stdout.write(JSON.stringify({ made: 100_000, report, lost: Object.fromEntries(telemetryLost()), held }));
