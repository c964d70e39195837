// A tool server as MCP hosts start it: JSON-RPC over standard input and output. Its spans join the trace that stands in the request's `_meta`.
import { createInterface } from "node:readline";
import { context, propagation, ROOT_CONTEXT } from "@opentelemetry/api";
import { createDispatcher } from "@toolspan/core";
import { withTimeout } from "@toolspan/middleware";
import { withAuditLog } from "@toolspan/receipts";
import { withTelemetry } from "@toolspan/telemetry";
import { startTelemetry } from "@toolspan/telemetry/node";

const telemetry = startTelemetry({ serviceName: "weather-server", sinks: ["otlp"], metrics: false });
const dispatch = createDispatcher([withAuditLog("local"), withTelemetry("otel"), withTimeout({ maxMs: 1000 })]);

for await (const line of createInterface({ input: process.stdin })) {
  const { id, params } = JSON.parse(line);
  const remote = propagation.extract(ROOT_CONTEXT, params._meta ?? {});
  const { name, arguments: toolArgs } = params;
  const { result } = await context.with(remote, () =>
    dispatch({ toolName: name, toolArgs, callId: String(id) }, () => ({
      content: [{ type: "text", text: `Sunny in ${toolArgs.city}` }],
    })),
  );
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}
await dispatch.close();
await telemetry.shutdown({ timeoutMs: 10_000 });
