// A program with startTelemetry: one call, then the end that it is told. Prints what it knows as lines of JSON.
import { createDispatcher, diagnostics } from "@toolspan/core";
import { telemetryLost, withTelemetry } from "@toolspan/telemetry";
import { startTelemetry } from "@toolspan/telemetry/node";

const say = (fact) => process.stdout.write(`${JSON.stringify(fact)}\n`);

const [end, options] = process.argv.slice(2);
diagnostics.listen(({ source, kind }) => say({ said: `${source} ${kind}` }));
const telemetry = startTelemetry({ serviceName: "child", ...JSON.parse(options ?? "{}") });
const dispatch = createDispatcher([withTelemetry("otel")]);
await dispatch({ toolName: "t" }, () => 1);
process.on("exit", () => say({ lost: Object.fromEntries(telemetryLost()) }));
say({ ready: true, registered: telemetry.registered, disabled: telemetry.disabled });
if (end === "shutdown") say({ report: await telemetry.shutdown() });
if (end === "crash") {
  setTimeout(() => {
    throw new Error("crash");
  }, 1);
}
if (end === "shutdown-exit") void telemetry.shutdown();
if (end === "exit" || end === "shutdown-exit") process.exit(0);
if (end === "wait") setInterval(() => {}, 1000);
