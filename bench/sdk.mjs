// One OpenTelemetry set-up for every subject of a process: batch processor, exporter that only counts.
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

const countingExporter = {
  exported: 0,
  export(spans, done) {
    this.exported += spans.length;
    done({ code: 0 });
  },
  shutdown: async () => {},
  forceFlush: async () => {},
};

/** Registers provider and context manager; `drain` exports what is queued, which counts as work of the sample. */
export function registerSdk({ sampled }) {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const provider = new BasicTracerProvider({
    sampler: sampled ? new AlwaysOnSampler() : new AlwaysOffSampler(),
    spanProcessors: [new BatchSpanProcessor(countingExporter)],
  });
  trace.setGlobalTracerProvider(provider);
  const drain = async () => {
    for (let i = 0; i < 8; i += 1) await null;
    await provider.forceFlush();
  };
  return { tracer: provider.getTracer("bench"), drain, exporter: countingExporter };
}

/** The spans that one operation makes, as finished: the template of the hand-written side. */
export async function captureSpans(operation) {
  const finished = [];
  const processor = {
    onStart() {},
    onEnd: (span) => finished.push(span),
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const provider = new BasicTracerProvider({ spanProcessors: [processor] });
  trace.disable();
  trace.setGlobalTracerProvider(provider);
  await operation();
  trace.disable();
  return finished;
}
