/** How many items a collector refused of a request that it took: OTLP's partial success. */

const BRACE = 0x7b;
const PARTIAL_SUCCESS = 1;
const REJECTED = 1;
const VARINT = 0;
const BYTES = 2;

/**
 * The count in an `Export…ServiceResponse`, JSON or protobuf; 0 where it has none or is no such message.
 *
 * @source OpenTelemetry protocol 1.11, "Partial Success"
 */
export function rejectedOf(response: Uint8Array): number {
  const rejected = response[0] === BRACE ? fromJson(response) : fromProtobuf(response);
  return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
}

function fromJson(response: Uint8Array): number {
  try {
    const { partialSuccess } = JSON.parse(new TextDecoder().decode(response)) as {
      partialSuccess?: Record<string, unknown>;
    };
    return Number(partialSuccess?.rejectedSpans ?? partialSuccess?.rejectedDataPoints ?? 0);
  } catch {
    return 0; // it says nothing that could be counted
  }
}

function fromProtobuf(response: Uint8Array): number {
  const partial = memberOf(response, PARTIAL_SUCCESS);
  const rejected = partial instanceof Uint8Array ? memberOf(partial, REJECTED) : undefined;
  return typeof rejected === "number" ? rejected : 0;
}

/** The first member with that number; undefined where there is none, or the bytes are no message. */
function memberOf(message: Uint8Array, wanted: number): Uint8Array | number | undefined {
  for (let at = 0; at < message.length; ) {
    const tag = varint(message, at);
    const head = varint(message, tag.end);
    const number = Math.floor(tag.value / 8);
    const type = tag.value % 8;
    if (head.end > message.length || (type !== VARINT && type !== BYTES)) return undefined;
    const end = type === BYTES ? head.end + head.value : head.end;
    if (number === wanted) return type === BYTES ? message.subarray(head.end, end) : head.value;
    at = end;
  }
  return undefined;
}

function varint(bytes: Uint8Array, from: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let at = from, unit = 1; at < bytes.length && at < from + 10; at += 1, unit *= 128) {
    const byte = bytes[at] as number;
    value += (byte & 0x7f) * unit;
    if (byte < 0x80) return { value, end: at + 1 };
  }
  return { value, end: Number.POSITIVE_INFINITY };
}
