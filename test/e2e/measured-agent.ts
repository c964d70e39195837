// The program whose figures stand on the boards: recorded conversations, and beside them tools that fail, are slow, are refused, or lose their receipt.
import { generateKeyPairSync } from "node:crypto";
import { createReadStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import {
  classifyTranscript,
  createAgent,
  jsonSchemaValidator,
  readTranscripts,
  replayTranscript,
  type Transcript,
} from "@toolspan/agent";
import { createDispatcher, type Dispatcher, defineLayer, type ToolCallInput } from "@toolspan/core";
import { redactKeys } from "@toolspan/middleware/redact-keys";
import { withConsent } from "@toolspan/middleware/with-consent";
import { withRateLimit } from "@toolspan/middleware/with-rate-limit";
import { withRedaction } from "@toolspan/middleware/with-redaction";
import { withTimeout } from "@toolspan/middleware/with-timeout";
import { fileSigner, withAuditLog } from "@toolspan/receipts";
import { withTelemetry } from "@toolspan/telemetry";
import { startTelemetry, type Telemetry } from "@toolspan/telemetry/node";
import { CONVERSATIONS } from "./agent-program.ts";

export const SERVICE = "airline";
/** Fails each time, and a sink of span records of its own fails with it. */
export const BROKEN = "broken_tool";
/** Its receipt is refused by the second store, so its result is withheld. */
export const UNRECORDED = "unrecorded_tool";
/** May be called once in all. */
export const LIMITED = "limited_tool";
export const SLOW = "slow_tool";
const DENIED = "cancel_reservation";
const RECORDED = { model: "gpt-4o", provider: "openai" };

export interface MeasuredAgentOptions {
  /** State folder. */
  readonly folder: string;
  /** Of the Collector. */
  readonly otlpHttp: string;
  /** Takes the receipts. */
  readonly receipts: string;
  /** False leaves out everything that fails on purpose, and approves every call. Default true. */
  readonly faults?: boolean;
}

export class MeasuredAgent {
  readonly telemetry: Telemetry;
  readonly dispatcher: Dispatcher;
  #transcripts: readonly Transcript[] = [];
  #extra = 0;

  constructor({ folder, otlpHttp, receipts, faults = true }: MeasuredAgentOptions) {
    this.telemetry = startTelemetry({
      serviceName: SERVICE,
      deploymentEnvironment: "test",
      sinks: ["otlp", "jsonl"],
      dir: join(folder, "spans"),
      otlp: { endpoint: otlpHttp },
      metricIntervalMs: 250,
      signals: false,
      environment: {},
    });
    const audit = {
      stateDir: folder,
      hash: "sha256",
      signer: fileSigner(newKey(folder)),
      delivery: { endpoint: receipts, outside: true },
      flushTimeoutMs: 60_000,
    } as const;
    this.dispatcher = createDispatcher(
      [
        withAuditLog({ ...audit, sinks: faults ? ["both", refuseSome] : ["both"] }),
        withTelemetry({ sinks: faults ? ["otel", failsWithTool] : ["otel"], tools: ["never_called"], env: {} }),
        // Nobody cancels a reservation here.
        withConsent(({ toolName }) => ({ approved: !faults || toolName !== DENIED, decidedBy: "policy" })),
        withRedaction(redactKeys(["payment_id"])),
        withRateLimit({ maxCalls: 100_000, perTool: { [LIMITED]: 1 } }),
        defineLayer({ name: "with_pause", call: pause }),
        withTimeout({ maxMs: 30_000 }),
      ],
      { classify: classifyTranscript, validator: jsonSchemaValidator() },
    );
  }

  /** Replays conversations `from` to `to`, evenly over a time. */
  async replay(from: number, to: number, overMs: number, limited = true): Promise<void> {
    if (this.#transcripts.length === 0) this.#transcripts = await conversations();
    const runs = this.#transcripts.slice(from, to);
    for (const [at, transcript] of runs.entries()) {
      await this.#run(transcript, limited && at === 0);
      await setTimeout(overMs / runs.length);
    }
  }

  /** Calls the tools that are no part of the conversations, as the agent `desk`. */
  async callOthers(): Promise<void> {
    const waits = [3, 8, 15, 25, 40, 60, 90, 120, 180, 250];
    for (let i = 0; i < 6; i += 1) {
      await this.call(BROKEN, () => {
        throw new TypeError("always");
      });
    }
    for (let i = 0; i < 3; i += 1) await this.call(LIMITED, () => "once");
    for (let i = 0; i < 2; i += 1) await this.call(UNRECORDED, () => "kept back");
    await Promise.all(waits.map((ms) => this.call(SLOW, () => setTimeout(ms, "late"))));
  }

  /** One call of a tool by the agent `desk`. */
  call(toolName: string, handler: () => unknown): Promise<unknown> {
    this.#extra += 1;
    const turn = { iteration: 1, sessionId: "desk", agentName: "desk" };
    const call: ToolCallInput = { toolName, toolArgs: { number: this.#extra }, callId: `desk-${this.#extra}`, turn };
    return this.dispatcher(call, handler);
  }

  async #run(transcript: Transcript, cutShort: boolean): Promise<void> {
    const { model, tools, input, modelCalls, toolCalls } = replayTranscript(transcript, RECORDED);
    const limits = { maxModelCalls: Math.max(1, modelCalls), maxToolCalls: cutShort ? 1 : toolCalls };
    const agent = createAgent({ name: SERVICE, model, tools, dispatcher: this.dispatcher, limits });
    await agent.run(input, { sessionId: transcript.id ?? "unnamed" });
  }
}

function newKey(folder: string): string {
  const path = join(folder, "key.pem");
  const { privateKey } = generateKeyPairSync("ed25519");
  writeFileSync(path, privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
  return path;
}

async function conversations(): Promise<readonly Transcript[]> {
  const found: Transcript[] = [];
  for await (const { run } of readTranscripts(createReadStream(CONVERSATIONS))) if (run !== undefined) found.push(run);
  return found;
}

function refuseSome({ tool_name }: { readonly tool_name: string }): void {
  if (tool_name === UNRECORDED) throw new Error("the second store is full");
}

function failsWithTool({ attributes }: { readonly attributes: Readonly<Record<string, unknown>> }): void {
  if (Object.values(attributes).includes(BROKEN)) throw new Error("the sink does not like this tool");
}

/** A layer that takes its time for every third call. */
const pause: Parameters<typeof defineLayer>[0]["call"] = async (call, next) => {
  const { number } = Object(call.toolArgs) as { readonly number?: number };
  if (number !== undefined && number % 3 === 0) await setTimeout(30);
  return next(call);
};
