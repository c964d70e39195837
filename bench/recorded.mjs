// Rows 2, 3, 4, 7 and 9: spans and receipts of sampled calls, beside hand-written spans, a naive suite and a peer.
import { traceTool } from "@arizeai/openinference-core";
import { handNestedSpans } from "./hand-written.mjs";
import { measure, ratio } from "./measure.mjs";
import { payloads } from "./payloads.mjs";
import { captureSpans, registerSdk } from "./sdk.mjs";
import { naiveReceipts, receipts, repeat, repeatWide, telemetry, wholeCall } from "./suite.mjs";

const pass = async (call, next) => await next(call);
/** One row: a subject beside its baseline, alone in their process. */
async function pair(number, variant, target, sdk, subject, baseline) {
  const samples = await measure([baseline, subject].map((one) => ({ ...one, drain: sdk.drain })));
  return [
    {
      row: number,
      variant,
      subject: subject.name,
      baseline: baseline.name,
      unit: "ratio",
      target,
      measured: ratio(samples, subject.name, baseline.name),
    },
  ];
}

/** A set-up that samples, and what a careful author writes by hand for the spans of a call with these arguments. */
async function setUp(args) {
  const result = { ok: true, data: args };
  const template = await captureSpans(wholeCall([telemetry()], args, result));
  const sdk = registerSdk({ sampled: true });
  return { sdk, args, result, hand: handNestedSpans(sdk.tracer, template, pass, async () => result) };
}

/** Something of ours ÷ the eleven hand-written spans and their leaf. */
const besideSpans = (number, variant, target, name, layers, width) => async () => {
  const { sdk, args, result, hand } = await setUp(payloads.small);
  const call = wholeCall(layers(), args, result);
  const subject = { name, run: width === undefined ? repeat(call) : repeatWide(call, width) };
  const baseline = { name: "11 hand-written spans", run: repeat(() => hand(args)) };
  return pair(number, variant, target, sdk, subject, baseline);
};

const besideNaive = (variant, target) => async () => {
  const { sdk, args, result, hand } = await setUp(payloads[variant]);
  const writeReceipt = naiveReceipts();
  const naive = { name: "naive composition", run: repeat(async () => writeReceipt(args, await hand(args))) };
  const whole = { name: "whole call", run: repeat(wholeCall([receipts(), telemetry()], args, result)) };
  return pair(4, variant, target, sdk, whole, naive);
};

async function besidePeer() {
  const sdk = registerSdk({ sampled: true });
  const { small } = payloads;
  const result = { ok: true, data: small };
  const peer = traceTool(async () => result, { name: "web_search", tracer: sdk.tracer });
  const lean = wholeCall([receipts(), telemetry({ layerSpans: "off" })], small, result);
  const subject = { name: "1 span + 10 layers + receipt", run: repeat(lean) };
  return pair(7, "small", 1, sdk, subject, { name: "openinference traceTool", run: repeat(() => peer(small)) });
}

async function besideSmall() {
  const sdk = registerSdk({ sampled: true });
  const untouched = (name) => {
    const args = payloads[name];
    return { name, run: repeat(wholeCall([telemetry({ hashArgs: false })], args, { ok: true, data: args })) };
  };
  return pair(9, "content and hashing off", 1.05, sdk, untouched("large"), untouched("small"));
}

const required = () => [receipts({ policy: "required" }), telemetry()];

export const cases = {
  spans: besideSpans(2, "small", 1, "11 spans", () => [telemetry({ hashArgs: false })]),
  whole: besideSpans(3, "small", 1.25, "whole call", () => [receipts(), telemetry()]),
  full: besideSpans(3, "small (3b)", null, "whole call, layers full", () => [
    receipts({ layers: "full" }),
    telemetry(),
  ]),
  required: besideSpans(3, "small (3c)", null, "whole call, required", required),
  wide: besideSpans(3, "small (3c)", null, "whole call, required, 64 in flight", required, 64),
  naiveSmall: besideNaive("small", 0.7),
  naiveMedium: besideNaive("medium", 0.65),
  naiveLarge: besideNaive("large", 0.6),
  peer: besidePeer,
  large: besideSmall,
};
