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

async function rowOf(number, target, name, layers, baselineOf) {
  const { small } = payloads;
  const result = { ok: true, data: small };
  const handler = async () => result;
  const template = await captureSpans(wholeCall([telemetry()], small, result));
  const { tracer, drain } = registerSdk({ sampled: false });
  const baseline = baselineOf(tracer, handler, template);
  const samples = await measure([
    { name: baseline.name, run: repeat(() => baseline.call(small)), drain },
    { name, run: repeat(wholeCall(layers, small, result)), drain },
  ]);
  const measured = ratio(samples, name, baseline.name);
  const variant = "sampled off, small";
  return [{ row: number, variant, subject: name, baseline: baseline.name, unit: "ratio", target, measured }];
}

const pass = async (call, next) => await next(call);
const isNode20 = process.versions.node.startsWith("20.");

export const cases = {
  whole: () =>
    rowOf(5, 0.6, "whole call", [receipts(), telemetry()], (tracer, handler, template) => ({
      name: "11 unsampled spans",
      call: handNestedSpans(tracer, template, pass, handler),
    })),
  layers: () =>
    rowOf(6, isNode20 ? 2.1 : 1.6, "10 layers, no receipt", [telemetry()], (tracer, handler) => ({
      name: "1 unsampled span",
      call: oneSpan(tracer, handler),
    })),
};
