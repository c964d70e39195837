/** Strict canonical JSON: writer, reader, and the refusal that both throw. */
export { canonicalFromText } from "./canonical-from-text.ts";
export { canonicalJson } from "./canonical-json.ts";
export type { CanonicalOptions } from "./canonical-options.ts";
export { CanonicalRefusal, type RefusalReason } from "./canonical-refusal.ts";
