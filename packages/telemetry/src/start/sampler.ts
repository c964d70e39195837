/** Which traces are recorded, as the environment says; one sampler serves SDK providers of both lines and the private one. */

import { type Attributes, type Context, type SpanContext, TraceFlags, trace } from "@opentelemetry/api";
import { diagnostics } from "@toolspan/core";
import { type Environment, readNumber, readText } from "./environment.ts";

/** Members and values of an SDK sampler. Decision 0 records nothing, 1 records, 2 records and samples. */
export interface TraceSampler {
  shouldSample(
    context: Context,
    traceId: string,
    spanName?: string,
    spanKind?: unknown,
    attributes?: Attributes,
    links?: readonly unknown[],
  ): { readonly decision: 0 | 1 | 2; readonly traceState?: NonNullable<SpanContext["traceState"]> };
  toString(): string;
}

/**
 * The sampler that `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` name; `parentbased_always_on` where none is named.
 *
 * @param keepErrors Records what it does not sample, so that a sink can keep the failures of it.
 * @source OpenTelemetry specification, "Environment Variable Specification", General SDK Configuration
 */
export function samplerFrom(env: Environment, keepErrors = false): TraceSampler {
  const name = readText(env, "OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
  const share = Math.min(1, readNumber(env, "OTEL_TRACES_SAMPLER_ARG") ?? 1);
  const parentBased = name.startsWith("parentbased_");
  const root = ROOTS[name.replace("parentbased_", "")];
  if (root === undefined) {
    diagnostics.report(
      "telemetry.sampler",
      "unknown",
      `OTEL_TRACES_SAMPLER: ${JSON.stringify(name.slice(0, 64))} is not known; every trace is sampled`,
    );
  }
  const sampled = root === undefined ? always : root(share);
  return {
    shouldSample(context, traceId) {
      const parent = trace.getSpanContext(context);
      const decided =
        parentBased && parent !== undefined && trace.isSpanContextValid(parent)
          ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0
          : sampled(traceId);
      return {
        decision: decided ? 2 : keepErrors ? 1 : 0,
        ...(parent?.traceState === undefined ? {} : { traceState: parent.traceState }),
      };
    },
    toString: () => `ToolspanSampler{${name}, ${share}}`,
  };
}

const always = (): boolean => true;

const ROOTS: Readonly<Record<string, (share: number) => (traceId: string) => boolean>> = {
  always_on: () => always,
  always_off: () => () => false,
  traceidratio: (share) => {
    const bound = Math.floor(share * 0xffffffff);
    return (traceId) => share === 1 || foldedId(traceId) < bound;
  },
};

/** The id's four words folded into one, as the SDKs of JavaScript do, so that services of one trace agree. */
function foldedId(traceId: string): number {
  let folded = 0;
  for (let at = 0; at < 32; at += 8) folded = (folded ^ Number.parseInt(traceId.slice(at, at + 8), 16)) >>> 0;
  return folded;
}
