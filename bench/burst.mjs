// Row 19: 100,000 spans without a pause, to a healthy receiver: how many arrive, and how many of the others are owned up to.
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { diagnostics } from "@toolspan/core";
import { startTelemetry } from "@toolspan/telemetry/node";
import { startReceiver } from "./receiving.mjs";

const MADE = 100_000;

const row = (subject, variant, target, measured) => ({
  row: 19,
  variant,
  subject,
  baseline: `${MADE} made`,
  unit: "share",
  target,
  measured,
});

function burst(tracer) {
  const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "toolspan.status": "ok" };
  for (let i = 0; i < MADE; i += 1) tracer.startSpan("execute_tool search", { attributes }).end();
}

async function ours() {
  diagnostics.listen(() => {});
  const receiver = await startReceiver();
  const otlp = { endpoint: receiver.endpoint };
  const telemetry = startTelemetry({ serviceName: "bench", otlp, metrics: false, register: false, environment: {} });
  burst(telemetry.tracerProvider.getTracer("bench"));
  const { lost } = await telemetry.shutdown({ timeoutMs: 60_000 });
  const arrived = await receiver.spans();
  receiver.stop();
  return [
    row("startTelemetry", "exported + reported lost", 1, (arrived + lost) / MADE),
    row("startTelemetry", "exported", 0.99, arrived / MADE),
  ];
}

/** The SDK's processor says nothing of what it drops: what it reports is 0. */
async function stock() {
  const receiver = await startReceiver();
  const exporter = new OTLPTraceExporter({ url: `${receiver.endpoint}/v1/traces` });
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  burst(provider.getTracer("bench"));
  await provider.shutdown();
  const arrived = await receiver.spans();
  receiver.stop();
  return [row("stock BatchSpanProcessor", "exported + reported lost", null, arrived / MADE)];
}

export const cases = { ours, stock };
