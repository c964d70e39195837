// What happened, read from the receipts and the span file alone: the figures that boards have to show.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { attribute, type OtlpSpan, receiptsIn, recordsIn, spansIn, textsIn } from "../suite/otlp-file.ts";
import { UNRECORDED } from "./measured-agent.ts";

export interface CallFact {
  readonly tool: string;
  readonly agent: string;
  readonly status: string;
  readonly errorType: string | undefined;
  readonly seconds: number;
  /** False where a store refused the receipt. */
  readonly recorded: boolean;
}

export interface LayerFact {
  readonly name: string;
  readonly status: string;
  readonly shortCircuited: boolean;
  readonly selfSeconds: number;
}

export interface RunFact {
  readonly agent: string;
  readonly errorType: string | undefined;
  readonly seconds: number;
  readonly toolCalls: number;
  readonly modelCalls: number;
}

export interface Facts {
  readonly calls: readonly CallFact[];
  readonly layers: readonly LayerFact[];
  readonly runs: readonly RunFact[];
  readonly models: readonly { readonly model: string; readonly seconds: number }[];
  /** What the calls waited for their receipts. */
  readonly durable: readonly number[];
  readonly heads: number;
  readonly sealed: number;
}

const NOT_FAILED = new Set(["ok", "dry_run", "redacted", "suspended"]);

export const failed = ({ status }: CallFact): boolean => !NOT_FAILED.has(status);

/** Facts since a moment, nanoseconds; of heads, what there is beyond `before`. */
export function factsIn(folder: string, since = 0n, before: Sealed = { heads: 0, sealed: 0 }): Facts {
  const spans = spansIn(folder).filter(({ startTimeUnixNano }) => BigInt(startTimeUnixNano) >= since);
  const receipts = new Map(receiptsIn(folder).map((receipt) => [receipt.dispatch_id, receipt]));
  const named = (start: string): readonly OtlpSpan[] => spans.filter(({ name }) => name.startsWith(start));
  const { heads, sealed } = sealedIn(folder);
  return {
    calls: named("execute_tool ").map((span) => callOf(span, receipts.get(attribute(span, "toolspan.dispatch_id")))),
    layers: spans.filter((span) => attribute(span, "toolspan.layer.name") !== undefined).map(layerOf),
    runs: named("invoke_agent ").map(runOf),
    models: named("chat ").map((span) => ({
      model: String(attribute(span, "gen_ai.request.model")),
      seconds: secondsOf(span),
    })),
    durable: named("tool_call.with_audit_log").map(secondsOf),
    heads: heads - before.heads,
    sealed: sealed - before.sealed,
  };
}

export interface Sealed {
  readonly heads: number;
  readonly sealed: number;
}

/** Signed heads, and receipts below the last of each log. */
export function sealedIn(folder: string): Sealed {
  const sizes = headSizes(folder);
  return {
    heads: [...sizes.values()].reduce((sum, { heads }) => sum + heads, 0),
    sealed: receiptsIn(folder).filter((receipt) => {
      const { log, seq } = receipt.chain as { log: string; seq: number };
      return seq < (sizes.get(log)?.size ?? 0);
    }).length,
  };
}

/** Lines beyond the last head of their log. */
export function unsealedIn(folder: string): number {
  const sizes = headSizes(folder);
  return recordsIn(folder).filter((record) => {
    const { log, seq } = record.chain as { log: string; seq: number };
    return seq >= (sizes.get(log)?.size ?? 0);
  }).length;
}

export interface Waiting {
  readonly bytes: number;
  /** When the oldest line was written, Unix seconds. */
  readonly oldest: number;
}

/** Lines that are not among those that have arrived. */
export function waitingIn(folder: string, arrived: ReadonlySet<string>): Waiting {
  const waiting = textsIn(folder, "receipts").filter((line) => !arrived.has(line));
  const times = waiting.map((line) => Date.parse((JSON.parse(line) as { readonly emitted_at: string }).emitted_at));
  return {
    bytes: waiting.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
    oldest: Math.min(...times) / 1000,
  };
}

function headSizes(folder: string): ReadonlyMap<string, { readonly heads: number; readonly size: number }> {
  const receipts = join(folder, "receipts");
  return new Map(
    readdirSync(receipts)
      .filter((file) => file.endsWith(".heads"))
      .map((file) => {
        const text = readFileSync(join(receipts, file), "utf8");
        // Origin, size, root, an empty line, signatures.
        const sizes = [...text.matchAll(/^\S+\/([0-9a-f-]{36})\n(\d+)\n\S+\n\n— /gm)];
        const [, log = "", size] = sizes.at(-1) ?? [];
        return [log, { heads: sizes.length, size: Number(size ?? 0) }] as const;
      }),
  );
}

function callOf(span: OtlpSpan, receipt: Readonly<Record<string, unknown>> | undefined): CallFact {
  if (receipt === undefined) throw new Error(`${span.name}: no receipt of this dispatch`);
  const errorType = attribute(span, "error.type");
  const recorded = receipt.tool_name !== UNRECORDED;
  const call = {
    tool: String(receipt.tool_name),
    agent: String(receipt.agent_name),
    status: recorded ? String(receipt.status) : "tool_middleware_exception",
    errorType: errorType === undefined ? undefined : String(errorType),
    seconds: secondsOf(span),
    recorded,
  };
  if (attribute(span, "toolspan.status") !== call.status) throw new Error(`${span.name}: its receipt says otherwise`);
  return call;
}

function layerOf(span: OtlpSpan): LayerFact {
  return {
    name: String(attribute(span, "toolspan.layer.name")),
    status: String(attribute(span, "toolspan.layer.status")),
    shortCircuited: attribute(span, "toolspan.layer.short_circuited") === true,
    selfSeconds: Number(attribute(span, "toolspan.layer.self_time_ms")) / 1000,
  };
}

function runOf(span: OtlpSpan): RunFact {
  const errorType = attribute(span, "error.type");
  return {
    agent: String(attribute(span, "gen_ai.agent.name")),
    errorType: errorType === undefined ? undefined : String(errorType),
    seconds: secondsOf(span),
    toolCalls: Number(attribute(span, "toolspan.tool_calls")),
    modelCalls: Number(attribute(span, "toolspan.model_calls")),
  };
}

function secondsOf({ startTimeUnixNano, endTimeUnixNano }: OtlpSpan): number {
  return Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e9;
}
