// An agent in production's clothes: spans and metrics to a Collector, receipts on disk. Replays recorded conversations as its standard input asks.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import {
  classifyTranscript,
  createAgent,
  jsonSchemaValidator,
  readTranscripts,
  replayTranscript,
} from "@toolspan/agent";
import { createDispatcher } from "@toolspan/core";
import { redactKeys, withConsent, withRateLimit, withRedaction, withSummary, withTimeout } from "@toolspan/middleware";
import { withAuditLog } from "@toolspan/receipts";
import { telemetryLost, withTelemetry } from "@toolspan/telemetry";
import { startTelemetry } from "@toolspan/telemetry/node";

const telemetry = startTelemetry({
  serviceName: "airline",
  serviceVersion: "1.0.0",
  deploymentEnvironment: "test",
  sinks: ["otlp", "jsonl"],
  metricIntervalMs: 250,
});

const dispatcher = createDispatcher(
  [
    withAuditLog({ sink: "local", hash: "sha256" }),
    withTelemetry("otel"),
    withSummary(({ toolName }, { status }) => `${toolName}: ${status}`),
    // Nobody cancels a reservation here.
    withConsent(({ toolName }) => ({ approved: toolName !== "cancel_reservation", decidedBy: "policy" })),
    withRedaction(redactKeys(["payment_id"])),
    withRateLimit({ maxCalls: 1000 }),
    withTimeout({ maxMs: 30_000 }),
  ],
  { classify: classifyTranscript, validator: jsonSchemaValidator() },
);

/** @type {import("@toolspan/agent").Transcript[]} */
const transcripts = [];
for await (const { run } of readTranscripts(createReadStream(process.argv[2] ?? ""))) if (run) transcripts.push(run);

/**
 * Replays some of the conversations one after the other, evenly over a time.
 *
 * @param {{ from: number, to: number, overMs?: number, round?: number }} order
 */
async function play({ from, to, overMs = 0, round = 0 }) {
  const started = performance.now();
  const runs = transcripts.slice(from, to);
  let dispatches = 0;
  for (const [at, transcript] of runs.entries()) {
    const due = started + (overMs * at) / runs.length;
    await setTimeout(Math.max(0, due - performance.now()));
    const { model, tools, input, modelCalls, toolCalls } = replayTranscript(transcript, {
      model: "gpt-4o",
      provider: "openai",
    });
    const limits = { maxModelCalls: Math.max(1, modelCalls), maxToolCalls: toolCalls };
    const agent = createAgent({ name: "airline", model, tools, dispatcher, limits });
    const result = await agent.run(input, { sessionId: `${transcript.id}${round === 0 ? "" : `.${round}`}` });
    dispatches += result.toolCalls;
  }
  await setTimeout(Math.max(0, started + overMs - performance.now()));
  return { dispatches };
}

/** @param {unknown} answer */
const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

say({ ready: transcripts.length });
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if (order.play !== undefined) say(await play(order.play));
  else if (order.flush !== undefined) {
    await dispatcher.flush();
    say(await telemetry.forceFlush({ timeoutMs: 30_000 }));
  } else break;
}
await dispatcher.close();
const { complete } = await telemetry.shutdown({ timeoutMs: 30_000 });
say({ complete, lost: telemetryLost() });
