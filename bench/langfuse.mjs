// Row 11: a whole call with large arguments and result, hashed, receipted and exported, beside Langfuse's observe and langsmith's traceable.

import { LangfuseSpanProcessor } from "@langfuse/otel";
import { observe } from "@langfuse/tracing";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { startTelemetry } from "@toolspan/telemetry/node";
import { Client } from "langsmith";
import { traceable } from "langsmith/traceable";
import { measure, ratio } from "./measure.mjs";
import { payloads } from "./payloads.mjs";
import { startReceiver } from "./receiving.mjs";
import { receipts, repeat, telemetry, wholeCall } from "./suite.mjs";

const args = payloads.large;
const result = { ok: true, data: args };
/** Of 256 KB each: more at once would make requests that time out, which is no saving. */
const MAX_OPS = 16;

async function against(name, target, peerOf, options) {
  const receiver = await startReceiver();
  const peer = await peerOf(receiver);
  const otlp = { endpoint: receiver.endpoint };
  const started = startTelemetry({ serviceName: "bench", otlp, metrics: false, register: false, environment: {} });
  const { tracerProvider } = started;
  const subject = {
    name: `whole call${options.captureContent ? ", content captured" : ""}`,
    run: repeat(wholeCall([receipts(), telemetry({ tracerProvider, ...options })], args, result)),
    drain: () => started.forceFlush(),
    maxOps: MAX_OPS,
  };
  const samples = await measure([{ ...peer, name, maxOps: MAX_OPS }, subject]);
  receiver.stop();
  return [
    {
      row: 11,
      variant: `large, hashed, exported${options.captureContent ? ", with content" : ""}`,
      subject: subject.name,
      baseline: name,
      unit: "ratio",
      target: options.captureContent ? null : target,
      measured: ratio(samples, subject.name, name),
    },
  ];
}

function langfuse({ endpoint }) {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const processor = new LangfuseSpanProcessor({
    baseUrl: endpoint,
    publicKey: "pk",
    secretKey: "sk",
    mediaUploadEnabled: false,
  });
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }));
  const observed = observe(async () => result, { name: "web_search", asType: "tool" });
  return { run: repeat(() => observed(args)), drain: () => processor.forceFlush() };
}

function langsmith({ endpoint }) {
  const client = new Client({ apiUrl: endpoint, apiKey: "k", autoBatchTracing: true });
  const traced = traceable(async () => result, { name: "web_search", run_type: "tool", client, tracingEnabled: true });
  return { run: repeat(() => traced(args)), drain: () => client.awaitPendingTraceBatches() };
}

export const cases = {
  langfuse: () => against("Langfuse observe", 0.6, langfuse, {}),
  langfuseContent: () =>
    against("Langfuse observe", 0.6, langfuse, { captureContent: true, maxContentBytes: 1_048_576 }),
  langsmith: () => against("langsmith traceable", 0.38, langsmith, {}),
};
