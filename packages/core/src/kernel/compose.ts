/** The composition kernel: a list of layers is one layer, the first listed outermost. */

import { describeStack, type StackDescription } from "../order/describe.ts";
import { type Finding, lintStack } from "../order/lint.ts";
import type { LayerScope, Next, ToolCaller } from "../ports/layer.ts";
import { FLATTENED, flattenLayers, listedRows, runningRows } from "./flatten.ts";
import { unrecordedScope } from "./unrecorded-scope.ts";

/** A composition: itself a tool caller, and able to say in which order it runs. */
export interface ComposedToolCaller {
  (call: Parameters<ToolCaller>[0], next: Next, scope?: LayerScope): ReturnType<ToolCaller>;
  describe(): StackDescription;
  lint(): readonly Finding[];
}

/**
 * Makes one tool caller of many; layers run first-listed-outermost, inner compositions are flattened.
 *
 * In a dispatcher each layer is recorded. Called by hand it runs its layers as plain functions.
 *
 * @throws TOOLSPAN_INVALID_LAYER when made, naming the position of whatever is not a function.
 */
export function composeToolCallers(layers: readonly ToolCaller[]): ComposedToolCaller {
  const flat = flattenLayers(layers);
  const chain = flat.reduceRight<ToolCaller>(
    (inner, layer) => (call, next, scope) => layer(call, async (passed) => inner(passed, next, scope), scope),
    (call, next) => next(call),
  );
  const composed = (call: Parameters<ToolCaller>[0], next: Next, scope: LayerScope = unrecordedScope) =>
    chain(call, next, scope);
  return Object.assign(composed, {
    [FLATTENED]: flat,
    describe: () => describeStack(runningRows(flat)),
    lint: () => lintStack(runningRows(flat), listedRows(flat)),
  });
}

/** The identity: passes every call on and leaves no record. */
export function defaultToolCaller(): ToolCaller {
  return composeToolCallers([]);
}
