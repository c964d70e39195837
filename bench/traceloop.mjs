// Row 8: one tool span, ten layers and a receipt beside traceloop's bare tool span, whose own SDK owns the process.
import { trace } from "@opentelemetry/api";
import * as traceloop from "@traceloop/node-server-sdk";
import { measure, ratio } from "./measure.mjs";
import { payloads } from "./payloads.mjs";
import { receipts, repeat, telemetry, wholeCall } from "./suite.mjs";

const exporter = { export: (_, done) => done({ code: 0 }), shutdown: async () => {}, forceFlush: async () => {} };

async function rows() {
  traceloop.initialize({
    appName: "bench",
    exporter,
    disableBatch: false,
    silenceInitializationMessage: true,
    traceloopSyncEnabled: false,
    instrumentModules: {},
  });
  const { small } = payloads;
  const result = { ok: true, data: small };
  const drain = async () => {
    await trace.getTracerProvider().getDelegate?.().forceFlush?.();
  };
  const samples = await measure([
    {
      name: "traceloop withTool",
      run: repeat(() => traceloop.withTool({ name: "web_search" }, async () => result, small)),
      drain,
    },
    {
      name: "1 span + 10 layers + receipt",
      run: repeat(wholeCall([receipts(), telemetry({ layerSpans: "off" })], small, result)),
      drain,
    },
  ]);
  const measured = ratio(samples, "1 span + 10 layers + receipt", "traceloop withTool");
  return [
    {
      row: 8,
      variant: "small",
      subject: "1 span + 10 layers + receipt",
      baseline: "traceloop withTool",
      unit: "ratio",
      target: 0.9,
      measured,
    },
  ];
}

export const cases = { all: rows };
