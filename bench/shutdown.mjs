// Row 20: a shutdown against an endpoint that never answers: how long it takes beside the stock one, and whether it says what was lost.
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { diagnostics } from "@toolspan/core";
import { startTelemetry } from "@toolspan/telemetry/node";
import { startReceiver } from "./receiving.mjs";

const MADE = 1000;

function make(tracer) {
  for (let i = 0; i < MADE; i += 1) tracer.startSpan("s").end();
}

async function timed(end) {
  const before = performance.now();
  const said = await end();
  return { ms: performance.now() - before, said };
}

async function rows() {
  diagnostics.listen(() => {});
  const receiver = await startReceiver("hang");
  const exporter = new OTLPTraceExporter({ url: `${receiver.endpoint}/v1/traces` });
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  make(provider.getTracer("bench"));
  const stock = await timed(() => provider.shutdown().catch(() => {}));
  const otlp = { endpoint: receiver.endpoint };
  const telemetry = startTelemetry({ serviceName: "bench", otlp, metrics: false, register: false, environment: {} });
  make(telemetry.tracerProvider.getTracer("bench"));
  const ours = await timed(() => telemetry.shutdown());
  receiver.stop();
  const row = (variant, subject, baseline, unit, target, measured) => ({
    row: 20,
    variant,
    subject,
    baseline,
    unit,
    target,
    measured,
  });
  return [
    row("hanging endpoint", "shutdown", "stock shutdown", "ratio", 0.2, ours.ms / stock.ms),
    row("hanging endpoint", "stock shutdown", "", "s", null, stock.ms / 1000),
    row("hanging endpoint", "lost, as returned", `${MADE} made`, "share", 1, ours.said.lost / MADE),
  ];
}

export const cases = { all: rows };
