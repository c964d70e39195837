/** Keeps an audit blob within its size, in a fixed order of what goes first, and names what went. */

import type { AuditBlob } from "./audit.ts";
import type { LayerRecord } from "./record.ts";

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
  (audit) => ({
    audit: { ...audit, layers: (audit.layers ?? []).map(withoutAttributes) },
    pointers: (audit.layers ?? []).flatMap(({ attributes }, i) => (attributes ? [`/layers/${i}/attributes`] : [])),
  }),
  (audit) => without(audit, ["layers"]),
  (audit) => without(audit, ["metadata"]),
  (audit) =>
    without(
      audit,
      Object.keys(audit).filter((key) => !CONVENTIONAL.has(key)),
    ),
  (audit) => without(audit, ["handoff", "scope", "consent", "hints"]),
];

/** The blob cut to 1 KiB a reason and 16 KiB in all; what is no JSON goes too. `truncated` holds JSON Pointers. */
export function limitAudit(audit: AuditBlob): AuditBlob {
  const { limited, pointers } = limitTexts(audit);
  let current = limited;
  for (const cut of CUTS) {
    if (sizeOf(current) <= MAX_AUDIT_BYTES) break;
    const next = cut(current);
    current = next.audit;
    pointers.push(...next.pointers);
  }
  return pointers.length === 0 ? current : { ...current, truncated: pointers };
}

function limitTexts(audit: AuditBlob): { limited: AuditBlob; pointers: string[] } {
  const limited: Record<string, unknown> = {};
  const pointers: string[] = [];
  for (const [key, value] of Object.entries(audit)) {
    if (key === "truncated" || value === undefined) continue;
    if (typeof value === "string") {
      limited[key] = cutText(value);
      if (limited[key] !== value) pointers.push(`/${pointerToken(key)}`);
    } else if (Number.isNaN(sizeOf(value))) pointers.push(`/${pointerToken(key)}`);
    else limited[key] = value;
  }
  return { limited, pointers };
}

/** At most 1 KiB of UTF-8, never half a character. */
function cutText(text: string): string {
  if (text.length * 3 <= MAX_REASON_BYTES) return text;
  const target = new Uint8Array(MAX_REASON_BYTES);
  const { read } = new TextEncoder().encodeInto(text, target);
  return read === text.length ? text : text.slice(0, read);
}

/** Bytes of JSON; NaN for what is no JSON. */
function sizeOf(value: unknown): number {
  try {
    return new TextEncoder().encode(JSON.stringify(value) ?? "").length;
  } catch {
    return Number.NaN;
  }
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
