/** What is the same for all spans of one dispatch, and what a tracer is told when one starts. */

import type { Attributes, Link, SpanKind, SpanOptions } from "@opentelemetry/api";
import { type Clock, type Reading, toHrTime } from "@toolspan/core";
import type { SpanStarter } from "./private-tracer.ts";
import type { SpanOrigin, SpanResource, SpanScope, SpanSink } from "./readable-span.ts";

/** What the spans of one dispatch, run or model call share. */
export interface SpanHome {
  readonly tracer: SpanStarter;
  readonly clock: Clock;
  /** Get each span when it has ended. */
  readonly sinks: readonly SpanSink[];
  /** Who speaks, for spans that have to be kept beside a host's. */
  readonly resource: SpanResource;
  readonly scope: SpanScope;
  /** Told to the sinks with each span. */
  readonly origin: SpanOrigin;
  /** True where the host keeps no context, so that ours has to. */
  ownContext: boolean;
  /** True where the host's contexts are left alone altogether. */
  readonly isolated: boolean;
}

export interface SpanStart {
  readonly name: string;
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  readonly links?: Link[];
  readonly startedAt: Reading;
  readonly root?: boolean;
}

/** The options that a tracer gets; times come from the clock of the dispatch, so order is never a tie. */
export function toSpanOptions(start: SpanStart, clock: Clock): SpanOptions {
  const options: SpanOptions = { startTime: toHrTime(clock, start.startedAt) };
  if (start.attributes !== undefined) options.attributes = start.attributes;
  if (start.kind !== undefined) options.kind = start.kind;
  if (start.links !== undefined) options.links = start.links;
  if (start.root !== undefined) options.root = start.root;
  return options;
}
