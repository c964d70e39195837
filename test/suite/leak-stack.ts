// A full stack over every sink, and planted secrets carried through it in ten hiding places.
import { Buffer } from "node:buffer";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createDispatcher,
  type Diagnostic,
  type Dispatcher,
  defineLayer,
  diagnostics,
  mergeAudit,
  type ToolCallAuditEvent,
  type ToolCallInput,
  type ToolHandler,
} from "@toolspan/core";
import {
  autoApprove,
  type Redactor,
  withConsent,
  withRateLimit,
  withRedaction,
  withRequiredReason,
  withSummary,
  withTimeout,
} from "@toolspan/middleware";
import { type ToolCallReceipt, withAuditLog } from "@toolspan/receipts";
import { jsonlSink, stderrSink, type ToolCallSpan, withTelemetry } from "@toolspan/telemetry";
import { type OtelSdk, startOtelSdk } from "../support/otel-sdk.ts";
import type { PlantedSecret } from "../support/planted-secrets.ts";

/** What a hiding place does with texts: the arguments that the model gives, and what the tool does. */
interface Hidden {
  readonly args: Readonly<Record<string, unknown>>;
  readonly handler: ToolHandler;
  readonly reason?: string;
  /** For the audit that a layer of the user's attaches. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface HidingPlace {
  readonly name: string;
  /** How many secrets one call carries: what is cut to its size carries one. */
  readonly perCall: number;
  readonly hide: (texts: readonly string[]) => Hidden;
}

const done: ToolHandler = () => ({ done: true });
const both = (value: Readonly<Record<string, unknown>>): Hidden => ({ args: value, handler: () => value });
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The ten places. */
export const hidingPlaces: readonly HidingPlace[] = [
  { name: "arguments", perCall: 10, hide: (texts) => ({ args: { notes: texts, more: { note: texts[0] } }, handler: done }) },
  { name: "result", perCall: 10, hide: (texts) => ({ args: {}, handler: () => ({ rows: texts.map((note) => ({ note })) }) }) },
  { name: "error text and stack", perCall: 10, hide: (texts) => ({ args: {}, handler: () => fail(texts) }) },
  { name: "map keys", perCall: 10, hide: (texts) => ({ args: { byNote: Object.fromEntries(texts.map((text) => [text, 1])) }, handler: () => new Map(texts.map((text) => [text, 1])) }) },
  { name: "JSON in a string", perCall: 10, hide: (texts) => both({ body: JSON.stringify({ inner: texts, text: JSON.stringify(texts) }) }) },
  { name: "base64", perCall: 10, hide: (texts) => both({ files: texts.map((text) => `data:text/plain;base64,${base64(`note: ${text}`)}`) }) },
  { name: "URL user info", perCall: 10, hide: (texts) => both({ urls: texts.map((text) => `https://user:${encodeURIComponent(text)}@example.net/x`) }) },
  { name: "header arrays", perCall: 10, hide: (texts) => both({ headers: texts.map((text) => ["authorization", `Bearer ${text}`]), more: texts.map((value) => ({ name: "Cookie", value })) }) },
  { name: "reason", perCall: 1, hide: ([text = ""]) => ({ args: {}, handler: done, reason: `I need ${text} for it` }) },
  { name: "audit metadata", perCall: 10, hide: (texts) => ({ args: {}, handler: done, metadata: { notes: texts } }) },
]; // biome-ignore format: a table

function fail(texts: readonly string[]): never {
  throw Object.assign(new TypeError(`not accepted: ${texts.join(" | ")}`, { cause: { texts } }), {
    request: { texts },
  });
}

/** One stack, everything that its sinks were given, and its end. */
export interface LeakStack {
  readonly dispatch: Dispatcher;
  /** Carries `secrets` through the stack in every place; answers with the number of calls. */
  carry(secrets: readonly PlantedSecret[]): Promise<number>;
  /** Sink → what it was given, for the leak kit. */
  sinks(): Promise<Readonly<Record<string, unknown>>>;
  close(): Promise<void>;
}

/** Everything around `withRedaction(redactor)`: a layer that talks too much outside and one inside it. */
export async function leakStack(redactor: Redactor, captureContent: boolean): Promise<LeakStack> {
  const sdk = await startOtelSdk();
  const folder = mkdtempSync(join(tmpdir(), "toolspan-leaks-"));
  const given = { records: [] as ToolCallSpan[], receipts: [] as ToolCallReceipt[], events: [] as ToolCallAuditEvent[], lines: [] as string[], said: [] as Diagnostic[], results: [] as unknown[] }; // biome-ignore format: one line
  diagnostics.reset();
  const unlisten = diagnostics.listen((said) => given.said.push(said));
  diagnostics.report("test.leaks", "listening", "the leak suite listens");
  const jsonl = jsonlSink({ dir: join(folder, "spans") });
  const stderr = stderrSink({ write: (line) => void given.lines.push(line) });
  const sinks = ["otel" as const, jsonl, stderr, (span: ToolCallSpan) => void given.records.push(span)];
  const log = withAuditLog({ stateDir: folder, sinks: ["local", (receipt) => void given.receipts.push(receipt)], layers: "full", policy: "best_effort" }); // biome-ignore format: one line
  const dispatch = createDispatcher(
    [
      log,
      withTelemetry({ sinks, env: {}, captureContent }),
      withSummary(({ toolArgs }, { error }) => (toolArgs as { summarise?: string }).summarise ?? error ?? undefined),
      talkative("outer"),
      withRequiredReason({ onMissing: "fill_blank", strip: false }).caller,
      withConsent(autoApprove),
      withRateLimit({ maxCalls: 1_000_000 }),
      withRedaction(redactor),
      withTimeout({ maxMs: 60_000 }),
      talkative("inner"),
    ],
    { onAudit: (event) => void given.events.push(event) },
  );

  const carry = async (secrets: readonly PlantedSecret[]): Promise<number> => {
    let calls = 0;
    for (const place of hidingPlaces) {
      for (let i = 0; i < secrets.length; i += place.perCall) {
        const { args, handler, reason, metadata } = place.hide(secrets.slice(i, i + place.perCall).map(({ text }) => text)); // biome-ignore format: one line
        const call: ToolCallInput = { toolName: "carry", toolArgs: { reason: reason ?? "a test", ...args }, callId: `call_${calls}`, turn: { iteration: 1, sessionId: "s" }, meta: { metadata } }; // biome-ignore format: one line
        given.results.push(await dispatch(call, handler));
        calls += 1;
      }
    }
    return calls;
  };

  return {
    dispatch,
    carry,
    async sinks() {
      await dispatch.flush();
      const spans = sdk.spans().map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links })); // biome-ignore format: one line
      return {
        spans,
        "span records": given.records,
        "span file": textsIn(join(folder, "spans")),
        receipts: given.receipts,
        "receipt file": textsIn(join(folder, "receipts")),
        events: given.events,
        "log lines": given.lines,
        diagnostics: given.said,
        metrics: await metricsOf(sdk),
        results: given.results,
      };
    },
    async close() {
      unlisten();
      await dispatch.close();
      await sdk.shutdown();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A layer of the user's that says more than it should, in every way that a layer has. */
function talkative(where: string) {
  return defineLayer({
    name: `with_talk_${where}`,
    traits: { rewritesArgs: "no" },
    async call(call, next, scope) {
      const note = JSON.stringify(call.toolArgs);
      scope.report({ attributes: { note } });
      scope.event("talk", { note });
      const result = await next(call);
      const { metadata } = call.meta as { readonly metadata?: object };
      scope.report({ attributes: { error: String(result.error) } });
      const description = JSON.stringify(metadata ?? result.error ?? null);
      return { ...result, audit: mergeAudit(result.audit, { description, metadata: { ...result.audit?.metadata, ...metadata }, [where]: { error: result.error } }) }; // biome-ignore format: one line
    },
  });
}

function textsIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? readFileSync(join(folder, entry.name), "utf8").split("\n") : [],
  );
}

async function metricsOf(sdk: OtelSdk): Promise<unknown> {
  return [...(await sdk.collectMetrics()).values()].map(({ descriptor, dataPoints }) => ({ descriptor, dataPoints }));
}
