// What Jaeger's API says of traces, read into spans that a test can compare.
import { until } from "../peers/program.ts";

export interface StoredSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly service: string;
  /** Nanoseconds since the epoch. */
  readonly startNs: bigint;
  readonly endNs: bigint;
  /** 2 is ERROR. */
  readonly statusCode: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface OtlpValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly OtlpValue[] };
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

export interface OtlpTraces {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes?: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number };
  readonly attributes?: readonly OtlpAttribute[];
}

/** Spans of OTLP/JSON, each once: what was sent again after a crash is stored twice. */
export function spansOf(traces: OtlpTraces): readonly StoredSpan[] {
  const spans = new Map<string, StoredSpan>();
  for (const { resource, scopeSpans } of traces.resourceSpans ?? []) {
    const service = String(plain(resource.attributes)["service.name"]);
    for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
      spans.set(`${span.traceId}/${span.spanId}`, {
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? "",
        name: span.name,
        service,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        statusCode: span.status?.code ?? 0,
        attributes: plain(span.attributes),
      });
    }
  }
  return [...spans.values()].sort((a, b) => (a.startNs < b.startNs ? -1 : 1));
}

function plain(attributes: readonly OtlpAttribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));
}

/** A list as its JSON text: that is how Jaeger keeps it. */
function plainValue({ stringValue, boolValue, doubleValue, intValue, arrayValue }: OtlpValue): unknown {
  if (arrayValue !== undefined) return JSON.stringify((arrayValue.values ?? []).map(plainValue));
  return stringValue ?? boolValue ?? doubleValue ?? (intValue === undefined ? null : Number(intValue));
}

/** The spans of one trace, from the API that keeps nanoseconds; none where Jaeger does not know it. */
export async function traceOf(jaeger: string, traceId: string): Promise<readonly StoredSpan[]> {
  const response = await fetch(`${jaeger}/api/v3/traces/${traceId}`);
  if (response.status === 404) return [];
  if (!response.ok) throw new Error(`Jaeger: ${response.status} ${await response.text()}`);
  return spansOf(((await response.json()) as { result: OtlpTraces }).result);
}

/** The same, as soon as it has that many spans: Jaeger gets them after a moment. */
export function wholeTrace(jaeger: string, traceId: string, spans: number): Promise<readonly StoredSpan[]> {
  return until(`trace ${traceId} has ${spans} spans`, async () => {
    const found = await traceOf(jaeger, traceId);
    return found.length >= spans ? found : undefined;
  });
}

/** Ids of the traces that a search in Jaeger's pages finds. */
export async function findTraces(
  jaeger: string,
  query: { readonly service: string; readonly operation?: string; readonly tags?: Readonly<Record<string, string>> },
): Promise<readonly string[]> {
  const { service, operation, tags } = query;
  const search = new URLSearchParams({ service, limit: "1500", lookback: "1h" });
  if (operation !== undefined) search.set("operation", operation);
  if (tags !== undefined) search.set("tags", JSON.stringify(tags));
  const response = await fetch(`${jaeger}/api/traces?${search}`);
  if (!response.ok) throw new Error(`Jaeger: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: { traceID: string }[] }).data.map(({ traceID }) => traceID).sort();
}
