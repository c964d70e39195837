/** Fingerprints of tool definitions, so that a changed definition shows in the receipts of its calls. */

import { canonicalJson } from "@toolspan/canonical";
import { sha256Text } from "@toolspan/canonical/hash";
import type { ToolCall } from "@toolspan/core";

const MAX_KNOWN = 1024;

interface Known {
  readonly description: string | undefined;
  readonly schema: unknown;
  readonly hash: string;
}

/** Computes each definition's hash once, as long as description and schema object stay the same. */
export class ToolHashes {
  readonly #known = new Map<string, Known>();

  /** `sha256:<hex>` of canonical `{ name, description, input_schema }`; null where the call has neither of the last two. */
  of({ toolName, description, schema }: ToolCall): string | null {
    if (description === undefined && schema === undefined) return null;
    const known = this.#known.get(toolName);
    if (known !== undefined && known.description === description && known.schema === schema) return known.hash;
    const hash = hashOf(toolName, description, schema);
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(toolName, { description, schema, hash });
    return hash;
  }
}

function hashOf(name: string, description: string | undefined, schema: unknown): string {
  try {
    const text = canonicalJson({ name, description: description ?? null, input_schema: schema ?? null });
    return `sha256:${sha256Text(text)}`;
  } catch {
    return "refused:no_canonical_form";
  }
}
