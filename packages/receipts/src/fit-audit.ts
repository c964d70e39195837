/** The audit blob as a receipt holds it: canonical text, within its size, whatever the layers attached. */

import { canonicalJson } from "@toolspan/canonical";
import { type AuditBlob, type Clock, type LayerRun, toLayerRecord } from "@toolspan/core";
import { fitText, jsonText, remembered, wordText } from "./json-text.ts";
import { millisecondsText } from "./milliseconds-text.ts";

/** Most bytes the audit blob takes in a line; the other fields together stay below the rest. */
export const MAX_AUDIT_BYTES = 28_672;

/** Conventional keys, given up last and in this order; the receipt's own address is never given up. */
const KEPT: readonly string[] = ["handoff", "truncated", "description", "summary", "hints", "scope", "consent", "kind"];

/** How layer runs appear in receipts. */
export type LayerForm = "compact" | "full";

export interface FittedAudit {
  readonly text: string;
  /** JSON Pointers, from the receipt down, of what is not there. */
  readonly cut: readonly string[];
}

const NOTHING: readonly string[] = [];

/** Canonical text of `audit` with the layers that ran and the receipt's own address. */
export function fitAudit(
  audit: AuditBlob | undefined,
  runs: readonly LayerRun[],
  clock: Clock,
  form: LayerForm,
  uri: string | null,
): FittedAudit {
  if (audit === undefined && form === "compact") {
    const text = bareText(runs, uri);
    if (text.length * 3 <= MAX_AUDIT_BYTES) return { text, cut: NOTHING };
  }
  return fit(audit ?? {}, runs, clock, form, uri);
}

/** The common case, written as its own canonical form. */
function bareText(runs: readonly LayerRun[], uri: string | null): string {
  // An address is a URL: nothing in it needs an escape.
  if (runs.length === 0) return uri === null ? "null" : `{"receipt_uri":"${uri}"}`;
  const layers = compactText(runs);
  return uri === null ? `{"layers":${layers}}` : `{"layers":${layers},"receipt_uri":"${uri}"}`;
}

/** Gives up layer attributes, layers, metadata, free keys, the rest, until the text is short enough; names each. */
function fit(
  audit: AuditBlob,
  runs: readonly LayerRun[],
  clock: Clock,
  form: LayerForm,
  uri: string | null,
): FittedAudit {
  const cut: string[] = [];
  const members = membersOf(audit, cut);
  if (uri !== null) members.set("receipt_uri", `"receipt_uri":${jsonText(uri)}`);
  if (runs.length > 0) {
    members.set("layers", `"layers":${form === "full" ? fullText(runs, clock) : compactText(runs)}`);
    if (form === "full" && bytesOf(members) > MAX_AUDIT_BYTES) {
      members.set("layers", `"layers":${compactText(runs)}`);
      cut.push("/audit/layers/*");
    }
  }
  const free = [...members.keys()].filter((key) => key !== "receipt_uri" && !KEPT.includes(key));
  for (const key of ["layers", "metadata", ...free, ...KEPT]) {
    if (bytesOf(members) <= MAX_AUDIT_BYTES) break;
    if (members.delete(key)) cut.push(pointer(key));
  }
  return { text: join(members), cut };
}

/** Each member's canonical text by its name; what has none is left out and named. */
function membersOf(audit: AuditBlob, cut: string[]): Map<string, string> {
  const members = new Map<string, string>();
  for (const key of Object.keys(audit)) {
    if (key === "layers" || key === "receipt_uri") continue;
    try {
      const text = canonicalJson({ [key]: audit[key] }).slice(1, -1);
      members.set(key.startsWith("$") ? nameIn(text) : key, text);
    } catch {
      // A function, a cycle, a getter that throws: nothing that a line could hold.
      cut.push(pointer(key));
    }
  }
  return members;
}

/** The name as it was written: names that look like a typed form are escaped. */
function nameIn(member: string): string {
  return Object.keys(JSON.parse(`{${member}}`) as object)[0] as string;
}

function fullText(runs: readonly LayerRun[], clock: Clock): string {
  return `[${runs.map((run) => fullLayerText(run, clock)).join(",")}]`;
}

function fullLayerText(run: LayerRun, clock: Clock): string {
  try {
    const record = toLayerRecord(run, clock);
    return canonicalJson({ ...record, self_time_ms: duration(record.self_time_ms) });
  } catch {
    // Attributes come from layers, and a layer may report NaN.
    return compactLayerText(run);
  }
}

function compactText(runs: readonly LayerRun[]): string {
  let text = "";
  for (let i = 0; i < runs.length; i++) {
    const { name, selfTime, status } = runs[i] as LayerRun;
    text += i === 0 ? firstNamed(name) : furtherNamed(name);
    text += millisecondsText(selfTime) + withStatus(status);
  }
  return `${text}]`;
}

const firstNamed = remembered('[{"name":', ',"self_time_ms":');
const furtherNamed = remembered(',{"name":', ',"self_time_ms":');
const withStatus = remembered(',"status":', "}");

function compactLayerText({ name, selfTime, status }: LayerRun): string {
  return `{"name":${wordText(name)},"self_time_ms":${millisecondsText(selfTime)}${withStatus(status)}`;
}

/** A clock of somebody else's may run backwards; a record may not. */
function duration(milliseconds: number): number {
  return milliseconds > 0 && milliseconds < Number.POSITIVE_INFINITY ? milliseconds : 0;
}

function join(members: ReadonlyMap<string, string>): string {
  if (members.size === 0) return "null";
  return `{${[...members]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, text]) => text)
    .join(",")}}`;
}

function bytesOf(members: ReadonlyMap<string, string>): number {
  let bytes = 1;
  for (const text of members.values()) bytes += Buffer.byteLength(text) + 1;
  return bytes;
}

/** JSON Pointer (RFC 6901) to a key of the audit blob. */
function pointer(key: string): string {
  return `/audit/${fitText(key, 64).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
