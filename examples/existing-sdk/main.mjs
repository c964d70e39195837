// A program with its own OpenTelemetry SDK: Toolspan's spans land under its active span; nothing else is registered.
import assert from "node:assert/strict";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createDispatcher } from "@toolspan/core";
import { withTelemetry } from "@toolspan/telemetry";

const memory = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] }));
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const dispatch = createDispatcher([withTelemetry("otel")]);
const request = trace.getTracer("app").startSpan("request");
await context.with(trace.setSpan(context.active(), request), () => dispatch({ toolName: "greet" }, () => "hello"));
assert.equal(memory.getFinishedSpans().at(-1)?.parentSpanContext?.spanId, request.spanContext().spanId);
