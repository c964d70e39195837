// Rows 2, 3, 4, 7 and 9: spans and receipts of sampled calls, beside hand-written spans, a naive suite and a peer.
import { traceTool } from "@arizeai/openinference-core";
import { handNestedSpans } from "./hand-written.mjs";
import { measure, ratio } from "./measure.mjs";
import { payloads } from "./payloads.mjs";
import { captureSpans, registerSdk } from "./sdk.mjs";
import { naiveReceipts, receipts, repeat, repeatWide, telemetry, wholeCall } from "./suite.mjs";

const pass = async (call, next) => await next(call);
const row = (number, variant, samples, subject, baseline, target) => ({
  row: number,
  variant,
  subject,
  baseline,
  unit: "ratio",
  target,
  measured: ratio(samples, subject, baseline),
});

async function spanRows(sdk, template) {
  const { small } = payloads;
  const result = { ok: true, data: small };
  const hand = handNestedSpans(sdk.tracer, template, pass, async () => result);
  const spans = wholeCall([telemetry({ hashArgs: false })], small, result);
  const whole = wholeCall([receipts(), telemetry()], small, result);
  const full = wholeCall([receipts({ layers: "full" }), telemetry()], small, result);
  const required = wholeCall([receipts({ policy: "required" }), telemetry()], small, result);
  const samples = await measure([
    { name: "11 hand-written spans", run: repeat(() => hand(small)), drain: sdk.drain },
    { name: "11 spans", run: repeat(spans), drain: sdk.drain },
    { name: "whole call", run: repeat(whole), drain: sdk.drain },
    { name: "whole call, layers full", run: repeat(full), drain: sdk.drain },
    { name: "whole call, required", run: repeat(required), drain: sdk.drain },
    { name: "whole call, required, 64 in flight", run: repeatWide(required, 64), drain: sdk.drain },
  ]);
  const beside = (number, variant, subject, target) =>
    row(number, variant, samples, subject, "11 hand-written spans", target);
  return [
    beside(2, "small", "11 spans", 1),
    beside(3, "small", "whole call", 1.25),
    beside(3, "small (3b)", "whole call, layers full", null),
    beside(3, "small (3c)", "whole call, required", null),
    beside(3, "small (3c)", "whole call, required, 64 in flight", null),
  ];
}

async function naiveRows(sdk, template) {
  const found = [];
  for (const [variant, target] of [
    ["small", 0.7],
    ["medium", 0.65],
    ["large", 0.6],
  ]) {
    const args = payloads[variant];
    const result = { ok: true, data: args };
    const hand = handNestedSpans(sdk.tracer, template, pass, async () => result);
    const writeReceipt = naiveReceipts();
    const naive = async () => writeReceipt(args, await hand(args));
    const samples = await measure([
      { name: "naive composition", run: repeat(naive), drain: sdk.drain },
      { name: "whole call", run: repeat(wholeCall([receipts(), telemetry()], args, result)), drain: sdk.drain },
    ]);
    found.push(row(4, variant, samples, "whole call", "naive composition", target));
  }
  return found;
}

async function peerRows(sdk) {
  const { small, large } = payloads;
  const result = { ok: true, data: small };
  const peer = traceTool(async () => result, { name: "web_search", tracer: sdk.tracer });
  const lean = wholeCall([receipts(), telemetry({ layerSpans: "off" })], small, result);
  const untouched = (args) => wholeCall([telemetry({ hashArgs: false })], args, { ok: true, data: args });
  const samples = await measure([
    { name: "openinference traceTool", run: repeat(() => peer(small)), drain: sdk.drain },
    { name: "1 span + 10 layers + receipt", run: repeat(lean), drain: sdk.drain },
    { name: "small", run: repeat(untouched(small)), drain: sdk.drain },
    { name: "large", run: repeat(untouched(large)), drain: sdk.drain },
  ]);
  return [
    row(7, "small", samples, "1 span + 10 layers + receipt", "openinference traceTool", 1),
    row(9, "content and hashing off", samples, "large", "small", 1.05),
  ];
}

export async function rows() {
  const template = await captureSpans(wholeCall([telemetry()], payloads.small, { ok: true, data: payloads.small }));
  const sdk = registerSdk({ sampled: true });
  return [...(await spanRows(sdk, template)), ...(await naiveRows(sdk, template)), ...(await peerRows(sdk))];
}
