// Imports everything and prints what that left behind in the process: listeners, timers, globals of ours or of OpenTelemetry.
const ENDS = ["exit", "beforeExit", "SIGINT", "SIGTERM", "uncaughtException", "unhandledRejection", "warning"];
const state = () => ({
  listeners: ENDS.map((name) => process.listenerCount(name)),
  timers: process.getActiveResourcesInfo().filter((kind) => kind === "Timeout" || kind === "Immediate").length,
  globals: Object.getOwnPropertySymbols(globalThis)
    .map(String)
    .filter((name) => /opentelemetry|toolspan/.test(name)),
});
const before = state();
await import("@toolspan/telemetry");
await import("@toolspan/telemetry/node");
process.stdout.write(`${JSON.stringify([before, state()])}\n`);
