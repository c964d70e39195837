// Imports everything and prints what that changed in the process: nothing.
const listeners = () => process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
const before = JSON.stringify([listeners(), process.getActiveResourcesInfo()]);
const globals = Object.getOwnPropertySymbols(globalThis).length;
await import("@toolspan/telemetry");
await import("@toolspan/telemetry/node");
const after = JSON.stringify([listeners(), process.getActiveResourcesInfo()]);
const added = Object.getOwnPropertySymbols(globalThis).length - globals;
process.stdout.write(`${JSON.stringify({ same: before === after, added })}\n`);
