/** What a layer is: a tool caller with a wire name and declared traits. */

import type { AuditBlob } from "../vocabulary/audit.ts";
import type { Attributes } from "../vocabulary/record.ts";
import type { ToolCall } from "../vocabulary/tool-call.ts";
import type { ToolResult } from "../vocabulary/tool-result.ts";
import type { DispatchScope } from "./dispatch-scope.ts";

/** Runs the rest of the stack with `call`. Calling it again is another attempt of the same dispatch. */
export type Next = (call: ToolCall) => Promise<ToolResult>;

/** A layer: answers for a call, usually by way of `next`. The kernel always gives a scope; by hand it may be left out. */
export type ToolCaller = (call: ToolCall, next: Next, scope: LayerScope) => ToolResult | Promise<ToolResult>;

/** What a layer can say and ask while it runs. */
export interface LayerScope {
  readonly dispatch: DispatchScope;
  readonly name: string;
  readonly index: number;
  readonly attempt: number;
  /** Says what the layer decided; later reports win, attributes add up. */
  report(report: { readonly status?: string; readonly attributes?: Attributes }): void;
  /** Puts an event on the layer's span. */
  event(name: string, attributes?: Attributes): void;
  /**
   * Binds the decision of this layer to the arguments it saw: at the terminal, a call whose digest differs from
   * `digest(call.toolArgs)` is `policy_blocked`, unless layers of trait `own_field` or `mask` made the difference.
   */
  bindArgs(digest: (args: unknown) => string | null): void;
}

/** What a layer does to its arguments: nothing, adds or strips its own field, masks secrets, or anything. */
export type RewritesArgs = "no" | "own_field" | "mask" | "any";

/** Declared facts about a layer: what order lint and the consent binding go by. Undeclared is unknown. */
export interface LayerTraits {
  readonly rewritesArgs?: RewritesArgs;
  /** False when the layer never attaches `audit`: then its runs need no records where nobody observes. */
  readonly audits?: boolean;
  /** Judges the arguments it sees (consent); its decision is bound to them. */
  readonly decides?: boolean;
  /** Narrows what everything inside it may do (scope). */
  readonly narrows?: boolean;
  /** May answer from an earlier result. */
  readonly caches?: boolean;
  /** Calls `next` more than once. */
  readonly retries?: boolean;
  /** Masks what must not be stored. */
  readonly redacts?: boolean;
  /** Counts or spends calls. */
  readonly limits?: boolean;
  /** Gives a call up after a time. */
  readonly abandons?: boolean;
}

export interface LayerDefinition {
  /** Wire name: ASCII snake_case, at most 64 characters (`with_consent`). */
  readonly name: string;
  readonly traits?: LayerTraits;
  readonly call: ToolCaller;
  /** Applied by the kernel to the final audit blob, wherever the layer stands. A throw drops the blob's free content. */
  readonly redactAudit?: (audit: AuditBlob) => AuditBlob;
  /**
   * Applied by the kernel to content that no layer has masked and observers may record by opt-in: the arguments as the
   * dispatch was entered, their raw text, the messages of a model call. A throw leaves the content out.
   */
  readonly redactContent?: (content: unknown, toolName: string) => unknown;
  /**
   * Applied by the kernel to the result that leaves: what came past this layer on its way out, such as words of layers
   * further out or the failure that ended a stream. A throw withholds the result.
   */
  readonly redactResult?: (result: ToolResult, dispatch: DispatchScope) => ToolResult;
}

/** A tool caller that carries its definition. */
export type Layer = ToolCaller & { readonly [LAYER]: LayerDefinition };

/** Brand of defined layers, shared across copies of this package. */
export const LAYER: unique symbol = Symbol.for("toolspan.layer") as never;
