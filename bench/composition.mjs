// Row 1: what composing costs when nobody watches.

import { ROOT_CONTEXT } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { createDispatcher, defineLayer, isCompleteResult } from "@toolspan/core";
import koaCompose from "koa-compose";
import { measure, ratio } from "./measure.mjs";

const LAYERS = 10;
const awaiting = async (call, next) => {
  const result = await next(call);
  return result;
};
const handler = async () => 42;
const call = { toolName: "web_search", toolArgs: { query: "x" }, callId: "call_1" };

/** Layers that say they neither rewrite arguments nor set audit, so nothing has to be recorded for them. */
export const quietLayers = Array.from({ length: LAYERS }, (_, i) =>
  defineLayer({ name: `layer_${i}`, traits: { rewritesArgs: "no", audits: false }, call: awaiting }),
);

/** What a careful author would nest by hand: each closure catches and checks that the result is complete. */
function handNested() {
  const failed = (status, error) => ({ ok: false, status, toolName: call.toolName, observation: String(error) });
  let inner = async (passed) => {
    try {
      const result = await handler(passed);
      return {
        ok: true,
        status: "ok",
        toolName: passed.toolName,
        toolCallId: passed.callId,
        arguments: passed.toolArgs,
        result,
      };
    } catch (error) {
      return failed("exception", error);
    }
  };
  for (let i = 0; i < LAYERS; i += 1) {
    const next = inner;
    inner = async (passed) => {
      try {
        const result = await awaiting(passed, next);
        return isCompleteResult(result) ? result : failed("tool_middleware_exception", "incomplete");
      } catch (error) {
        return failed("tool_middleware_exception", error);
      }
    };
  }
  return inner;
}

/** What `made` costs, a stack of ten layers, beside the baselines. */
async function rowsOf(name, made, compared) {
  // Every process that traces has a context manager, and with it dearer promises on Node 20: the figure is for such a process.
  const manager = new AsyncLocalStorageContextManager().enable();
  manager.with(ROOT_CONTEXT, () => {});
  const dispatcher = createDispatcher(made);
  const nested = handNested();
  const koa = koaCompose([
    ...Array.from({ length: LAYERS }, () => async (_, next) => await next()),
    () => handler(call),
  ]);
  const repeat = (operation) => async (n) => {
    for (let i = 0; i < n; i += 1) await operation();
  };
  const samples = await measure([
    { name, run: repeat(() => dispatcher(call, handler)) },
    { name: "hand-nested", run: repeat(() => nested(call)) },
    { name: "koa-compose", run: repeat(() => koa(call)) },
  ]);
  return compared.map(({ variant, baseline, target }) => ({
    row: 1,
    variant,
    subject: name,
    baseline,
    unit: "ratio",
    target,
    measured: ratio(samples, name, baseline),
  }));
}

export const cases = {
  declared: () =>
    rowsOf("toolspan", quietLayers, [
      { variant: "no observer", baseline: "hand-nested", target: 1.1 },
      { variant: "no observer", baseline: "koa-compose", target: 2 },
    ]),
  undeclared: () =>
    rowsOf(
      "undeclared",
      Array.from({ length: LAYERS }, () => async (c, next) => await next(c)),
      [{ variant: "no observer, layers without traits", baseline: "hand-nested", target: null }],
    ),
};
