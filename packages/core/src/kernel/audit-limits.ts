/** Keeps an audit blob within its size, in a fixed order of what goes first, and names what went. */

import type { AuditBlob } from "../vocabulary/audit.ts";
import type { LayerRecord } from "../vocabulary/record.ts";

/** Bytes of UTF-8 that a reason may have. */
export const MAX_REASON_BYTES = 1024;
/** Bytes of JSON that a whole blob may have. */
export const MAX_AUDIT_BYTES: number = 16 * 1024;

const CONVENTIONAL = new Set([
  "summary",
  "description",
  "kind",
  "hints",
  "consent",
  "scope",
  "layers",
  "metadata",
  "handoff",
  "receipt_uri",
  "truncated",
]);

type Cut = (audit: AuditBlob) => { readonly audit: AuditBlob; readonly pointers: readonly string[] };

/** First to go first: layer attributes, layers, metadata, free keys. */
const CUTS: readonly Cut[] = [
  ({ layers, ...audit }) => ({
    audit: layers === undefined ? audit : { ...audit, layers: layers.map(withoutAttributes) },
    pointers: (layers ?? []).flatMap(({ attributes }, i) => (attributes ? [`/layers/${i}/attributes`] : [])),
  }),
  (audit) => without(audit, ["layers"]),
  (audit) => without(audit, ["metadata"]),
  (audit) =>
    without(
      audit,
      Object.keys(audit).filter((key) => !CONVENTIONAL.has(key)),
    ),
  (audit) => without(audit, ["handoff", "scope", "consent", "hints"]),
  (audit) => without(audit, ["description", "summary", "kind"]),
];

/**
 * The blob as plain JSON data, cut to 1 KiB a text and 16 KiB in all; what is no JSON goes too. `truncated` holds JSON
 * Pointers of what went, or the whole document's (`""`) where naming each would itself be too long.
 */
export function limitAudit(audit: AuditBlob): AuditBlob {
  const { limited, pointers } = plainCopy(audit);
  let current = limited;
  let gone: readonly string[] = pointers;
  for (const cut of CUTS) {
    const fitting = fit(current, gone);
    if (fitting !== undefined) return fitting;
    const next = cut(current);
    current = next.audit;
    gone = [
      ...gone.filter((pointer) => !next.pointers.some((outer) => pointer.startsWith(`${outer}/`))),
      ...next.pointers,
    ];
  }
  return fit(current, gone) ?? { truncated: [""] };
}

/** The blob with the names of what went, or with the whole document's; undefined where even that is too large. */
function fit(audit: AuditBlob, gone: readonly string[]): AuditBlob | undefined {
  const named = gone.length === 0 ? audit : { ...audit, truncated: gone };
  return [named, { ...audit, truncated: [""] }].find((blob) => sizeOf(blob) <= MAX_AUDIT_BYTES);
}

/** A copy that nobody can change afterwards, with every text cut that stands at the top or as the reason of a consent. */
function plainCopy(audit: AuditBlob): { limited: AuditBlob; pointers: string[] } {
  const limited: Record<string, unknown> = {};
  const pointers: string[] = [];
  const cut = (text: string, pointer: string): string => {
    const kept = cutText(text);
    if (kept !== text) pointers.push(pointer);
    return kept;
  };
  for (const [key, value] of Object.entries(audit)) {
    if (key === "truncated" || value === undefined) continue;
    const pointer = `/${pointerToken(key)}`;
    const copy = typeof value === "string" ? cut(value, pointer) : jsonCopy(value);
    if (copy === undefined) pointers.push(pointer);
    else limited[key] = copy;
  }
  const { consent } = limited as AuditBlob;
  if (typeof consent?.reason === "string") {
    Object.assign(limited, { consent: { ...consent, reason: cut(consent.reason, "/consent/reason") } });
  }
  return { limited, pointers };
}

/** The value as JSON gives it back; undefined for what is no JSON. */
function jsonCopy(value: unknown): unknown {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** At most 1 KiB of UTF-8, never half a character. */
function cutText(text: string): string {
  if (text.length * 3 <= MAX_REASON_BYTES) return text;
  const target = new Uint8Array(MAX_REASON_BYTES);
  const { read } = new TextEncoder().encodeInto(text, target);
  return read === text.length ? text : text.slice(0, read);
}

/** Bytes of JSON of a plain copy. */
function sizeOf(audit: AuditBlob): number {
  return new TextEncoder().encode(JSON.stringify(audit)).length;
}

function without(audit: AuditBlob, keys: readonly string[]): ReturnType<Cut> {
  const gone = keys.filter((key) => key in audit);
  const audited = Object.fromEntries(Object.entries(audit).filter(([key]) => !gone.includes(key)));
  return { audit: audited, pointers: gone.map((key) => `/${pointerToken(key)}`) };
}

/** A record of what a layer did, less what it said. */
export function withoutAttributes({ attributes: _, ...record }: LayerRecord): LayerRecord {
  return record;
}

function pointerToken(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
