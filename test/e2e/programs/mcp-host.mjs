// A host that calls a tool of a server over standard input and output, with its trace in the request's `_meta`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { context, propagation } from "@opentelemetry/api";
import { createAgent, scriptedModel } from "@toolspan/agent";
import { createToolRegistry } from "@toolspan/core";
import { withTimeout } from "@toolspan/middleware";
import { withAuditLog } from "@toolspan/receipts";
import { telemetryLost, withTelemetry } from "@toolspan/telemetry";
import { startTelemetry } from "@toolspan/telemetry/node";

const telemetry = startTelemetry({ serviceName: "weather-host", sinks: ["otlp"], metrics: false });
const server = spawn(process.execPath, [fileURLToPath(new URL("mcp-server.mjs", import.meta.url))], {
  stdio: ["pipe", "pipe", "inherit"],
});
const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();

/** @param {{ city: string }} toolArgs */
async function askServer(toolArgs) {
  const _meta = {};
  propagation.inject(context.active(), _meta);
  const params = { name: "weather", arguments: toolArgs, _meta };
  server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`);
  return JSON.parse((await answers.next()).value).result;
}

const tools = createToolRegistry([
  {
    name: "weather",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    execute: askServer,
  },
]);
const agent = createAgent({
  name: "host",
  model: scriptedModel({
    steps: [{ toolCalls: [{ name: "weather", args: { city: "Lisbon" } }] }, { text: "It is sunny." }],
  }),
  tools,
  layers: [withAuditLog("local"), withTelemetry("otel"), withTimeout({ maxMs: 5000 })],
});

process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
const { calls } = await agent.run("How is the weather in Lisbon?", { sessionId: "weather" });
server.stdin.end();
await once(server, "close");
await agent.dispatcher.close();
const { complete } = await telemetry.shutdown({ timeoutMs: 10_000 });
process.stdout.write(`${JSON.stringify({ complete, lost: telemetryLost(), result: calls[0]?.result?.result })}\n`);
