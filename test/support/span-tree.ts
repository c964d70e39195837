// Finished spans as indented text, in order of start: a picture that a test can hold up.

/** What is read of a span; those of both SDK lines and lines of OTLP/JSON can be brought to it. */
export interface TreeSpan {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** Unix nanoseconds. */
  readonly start: bigint;
  readonly end: bigint;
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface SdkSpan {
  readonly name: string;
  spanContext(): { readonly spanId: string };
  readonly parentSpanContext?: { readonly spanId: string };
  readonly startTime: readonly [number, number];
  readonly endTime: readonly [number, number];
  readonly status: { readonly code: number };
  readonly attributes: Readonly<Record<string, unknown>>;
}

export function fromSdk(span: SdkSpan): TreeSpan {
  return {
    name: span.name,
    spanId: span.spanContext().spanId,
    parentSpanId: span.parentSpanContext?.spanId,
    start: nanos(span.startTime),
    end: nanos(span.endTime),
    status: span.status.code,
    attributes: span.attributes,
  };
}

/** One span a line, children below and to the right; failed ones say ERROR and `error.type`, then what `note` says. */
export function spanTree(spans: readonly TreeSpan[], note: (span: TreeSpan) => string = () => ""): string {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined || !known.has(parentSpanId));
  const draw = (span: TreeSpan, depth: number): readonly string[] => {
    const failed = span.status === 2 ? ` ERROR ${String(span.attributes["error.type"])}` : "";
    const said = note(span);
    const line = `${"  ".repeat(depth)}${span.name}${failed}${said === "" ? "" : ` ${said}`}`;
    const children = spans.filter(({ parentSpanId }) => parentSpanId === span.spanId);
    return [line, ...inOrder(children).flatMap((child) => draw(child, depth + 1))];
  };
  return inOrder(roots)
    .flatMap((root) => draw(root, 0))
    .join("\n");
}

/** Every way in which a child leaves its parent's window, or two spans of one parent start at once; none when sound. */
export function windowFaults(spans: readonly TreeSpan[]): readonly string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const faults = spans.flatMap((span) => {
    const parent = span.parentSpanId === undefined ? undefined : byId.get(span.parentSpanId);
    if (span.end < span.start) return [`${span.name} ends before it starts`];
    if (parent === undefined) return [];
    return span.start <= parent.start || span.end >= parent.end ? [`${span.name} lies outside ${parent.name}`] : [];
  });
  const starts = new Set(spans.map(({ start }) => start));
  return starts.size === spans.length ? faults : [...faults, "two spans start at the same nanosecond"];
}

function inOrder(spans: readonly TreeSpan[]): readonly TreeSpan[] {
  return spans.toSorted((a, b) => (a.start < b.start ? -1 : 1));
}

function nanos([seconds, rest]: readonly [number, number]): bigint {
  return BigInt(seconds) * 1_000_000_000n + BigInt(rest);
}
