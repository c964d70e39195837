/** A receipt's line, written as its own canonical form: keys in RFC 8785 order, so nothing has to be sorted or read back. */

import { jsonText, jsonTextOrNull, plainTextOrNull, wordText, wordTextOrNull } from "./json-text.ts";
import type { Chain } from "./records/envelope.ts";
import type { ReceiptDraft } from "./to-receipt.ts";

/** One line without its newline; equal to the canonical JSON of the record it holds, which has to keep to its schema. */
export function receiptLine(r: ReceiptDraft, chain: Chain | null): string {
  return (
    `{"agent_name":${wordTextOrNull(r.agent_name)},"args_hash":${plainTextOrNull(r.args_hash)},` +
    `"args_redacted":${listText(r.args_redacted)},"attempts":${r.attempts},"audit":${r.auditText},` +
    `"chain":${chainText(chain)},"dispatch_id":"${r.dispatch_id}","duration_ms":${r.durationText},` +
    `"emit_order":${r.emit_order},"emitted_at":"${r.emitted_at}","error_category":${wordTextOrNull(r.error_category)},` +
    `"error_type":${wordTextOrNull(r.error_type)},"executed_args_hash":${plainTextOrNull(r.executed_args_hash)},` +
    `"executor":${plainTextOrNull(r.executor)},"iteration":${r.iteration},"kind":${plainTextOrNull(r.kind)},` +
    `"model":${wordTextOrNull(r.model)},"ok":${r.ok},"provider":${wordTextOrNull(r.provider)},` +
    `"reason":${jsonTextOrNull(r.reason)},"record":"receipt","replayed":${r.replayed},` +
    `"result_hash":${plainTextOrNull(r.result_hash)},"run_id":${jsonTextOrNull(r.run_id)},` +
    `"schema_version":${r.schema_version},"session_id":${jsonTextOrNull(r.session_id)},` +
    `"span_id":${plainTextOrNull(r.span_id)},"started_at":"${r.started_at}","status":"${r.status}",` +
    `"tool_call_id":${jsonTextOrNull(r.tool_call_id)},"tool_hash":${plainTextOrNull(r.tool_hash)},` +
    `"tool_name":${wordText(r.tool_name)},"trace_id":${plainTextOrNull(r.trace_id)},` +
    `"truncated":${listText(r.truncated)},"turn_index":${r.turn_index}}`
  );
}

function chainText(chain: Chain | null): string {
  if (chain === null) return "null";
  return `{"log":"${chain.log}","prev":${plainTextOrNull(chain.prev)},"seq":${chain.seq}}`;
}

function listText(texts: readonly string[]): string {
  return texts.length === 0 ? "[]" : `[${texts.map(jsonText).join(",")}]`;
}
