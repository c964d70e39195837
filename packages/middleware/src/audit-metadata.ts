/** Adds to the metadata of an audit blob, which merges shallowly: what others put there stays. */

import { type AuditBlob, mergeAudit } from "@toolspan/core";

/** The blob with `entries` among its metadata; of one name the given one wins. */
export function addMetadata(audit: AuditBlob | undefined, entries: Readonly<Record<string, unknown>>): AuditBlob {
  return mergeAudit(audit, { metadata: { ...audit?.metadata, ...entries } });
}
