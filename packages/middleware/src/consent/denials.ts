/** Remembers denials, so that the same question is not put again until somebody gives in. */

import { plainDigest, sha256Text } from "@toolspan/canonical/hash";
import type { AuditBlob, ToolCall } from "@toolspan/core";
import { LRUCache } from "lru-cache";

type Consent = NonNullable<AuditBlob["consent"]>;

/** Most denials that one layer remembers; beyond it the oldest are asked again, never let through. */
const MAX_DENIALS = 10_000;

export class Denials {
  readonly #denied = new LRUCache<string, Consent>({ max: MAX_DENIALS });
  readonly #ignored: ReadonlySet<string>;

  /** `ignored` are names of arguments that do not make a call another one. */
  constructor(ignored: readonly string[]) {
    this.#ignored = new Set(ignored);
  }

  /**
   * What makes a call the same: session (else run), tool and arguments, as they are now. Undefined where a call belongs to
   * neither, or its arguments have no canonical form: such a call is like no other.
   */
  keyOf({ turn, toolName, toolArgs }: ToolCall): string | undefined {
    const owner = turn.sessionId ?? turn.runId;
    const digest = owner === undefined ? null : this.#digest(toolArgs);
    return digest === null ? undefined : sha256Text(JSON.stringify([owner, toolName, digest]));
  }

  get(key: string | undefined): Consent | undefined {
    return key === undefined ? undefined : this.#denied.get(key);
  }

  add(key: string | undefined, consent: Consent): void {
    if (key !== undefined) this.#denied.set(key, consent);
  }

  #digest(args: unknown): string | null {
    try {
      return plainDigest(this.#ignored.size === 0 ? args : this.#counted(args));
    } catch {
      return null; // arguments that cannot be read
    }
  }

  #counted(args: unknown): unknown {
    if (typeof args !== "object" || args === null || Array.isArray(args)) return args;
    return Object.fromEntries(Object.entries(args).filter(([name]) => !this.#ignored.has(name)));
  }
}
