// Rows 5 and 6: what a call costs whose trace is not sampled.
import { SpanStatusCode } from "@opentelemetry/api";
import { handNestedSpans } from "./hand-written.mjs";
import { measure, ratio } from "./measure.mjs";
import { payloads } from "./payloads.mjs";
import { captureSpans, registerSdk } from "./sdk.mjs";
import { receipts, repeat, telemetry, wholeCall } from "./suite.mjs";

/** One span by hand around the same handler, with what the convention wants a sampler to see. */
const oneSpan = (tracer, handler) => (toolArgs) => {
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "web_search",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": "call_1",
    "gen_ai.agent.name": "bench",
    "gen_ai.conversation.id": "bench",
  };
  return tracer.startActiveSpan("execute_tool web_search", { attributes }, async (span) => {
    try {
      return await handler(toolArgs);
    } catch (error) {
      span.recordException(error);
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
};

export async function rows() {
  const { small } = payloads;
  const result = { ok: true, data: small };
  const template = await captureSpans(wholeCall([telemetry()], small, result));
  const { tracer, drain } = registerSdk({ sampled: false });
  const pass = async (call, next) => await next(call);
  const handler = async () => result;
  const hand = handNestedSpans(tracer, template, pass, handler);
  const one = oneSpan(tracer, handler);
  const samples = await measure([
    { name: "11 unsampled spans", run: repeat(() => hand(small)), drain },
    { name: "1 unsampled span", run: repeat(() => one(small)), drain },
    { name: "whole call", run: repeat(wholeCall([receipts(), telemetry()], small, result)), drain },
    { name: "10 layers, no receipt", run: repeat(wholeCall([telemetry()], small, result)), drain },
  ]);
  const row = (number, subject, baseline, target) => ({
    row: number,
    variant: "sampled off, small",
    subject,
    baseline,
    unit: "ratio",
    target,
    measured: ratio(samples, subject, baseline),
  });
  const isNode20 = process.versions.node.startsWith("20.");
  return [
    row(5, "whole call", "11 unsampled spans", 0.6),
    row(6, "10 layers, no receipt", "1 unsampled span", isNode20 ? 2.1 : 1.6),
  ];
}
