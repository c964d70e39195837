/** Turns what people list into the flat list that runs, and names its rows for pictures and lint. */

import { kindOf, quote, ToolspanError } from "../errors.ts";
import type { DescribedLayer } from "../order/describe.ts";
import type { LayerDefinition, ToolCaller } from "../ports/layer.ts";
import type { Observer } from "../ports/observer.ts";
import type { Recorder } from "../ports/recorder.ts";
import { OBSERVER, type ObserverCaller, RECORDER, type RecorderCaller } from "../ports/roles.ts";
import { definitionOf } from "./define-layer.ts";

/** Brand of compositions: their flat list. */
export const FLATTENED: unique symbol = Symbol.for("toolspan.flattened") as never;

/** A copy of the list with inner compositions spread out in place. */
export function flattenLayers(layers: readonly ToolCaller[]): readonly ToolCaller[] {
  if (!Array.isArray(layers)) {
    throw new ToolspanError("TOOLSPAN_INVALID_OPTION", {
      subject: "composition",
      option: "layers",
      expected: "a list of functions",
      received: kindOf(layers),
    });
  }
  return Array.from(layers, spreadOut).flat();
}

function spreadOut(layer: ToolCaller, position: number): readonly ToolCaller[] {
  if (typeof layer !== "function") throw notALayer(layer, position);
  return (layer as { readonly [FLATTENED]?: readonly ToolCaller[] })[FLATTENED] ?? [layer];
}

function notALayer(received: unknown, position: number): ToolspanError {
  const isObject = typeof received === "object" && received !== null;
  const { name, caller } = (isObject ? received : {}) as { readonly name?: unknown; readonly caller?: unknown };
  return new ToolspanError("TOOLSPAN_INVALID_LAYER", {
    position,
    received: typeof name === "string" ? `${kindOf(received)} named ${quote(name)}` : kindOf(received),
    ...(typeof caller === "function" ? { hint: "pass .caller" } : {}),
  });
}

export function observerOf(layer: ToolCaller): Observer | undefined {
  return (layer as Partial<ObserverCaller>)[OBSERVER];
}

export function recorderOf(layer: ToolCaller): Recorder | undefined {
  return (layer as Partial<RecorderCaller>)[RECORDER];
}

/** The layers proper, without observers and recorders, in running order. */
export function definitionsOf(flat: readonly ToolCaller[]): readonly LayerDefinition[] {
  return flat.filter((layer) => !observerOf(layer) && !recorderOf(layer)).map(definitionOf);
}

/** Rows in the order in which people listed them. */
export function listedRows(flat: readonly ToolCaller[]): readonly DescribedLayer[] {
  return flat.map((layer, position) => hoistedRow(layer) ?? layerRow(definitionOf(layer, position), position));
}

/** Rows in running order: observers, recorders, then the layers from index 0. */
export function runningRows(flat: readonly ToolCaller[]): readonly DescribedLayer[] {
  const hoisted = flat.flatMap((layer) => hoistedRow(layer) ?? []);
  return [
    ...hoisted.filter(({ role }) => role === "observer"),
    ...hoisted.filter(({ role }) => role === "recorder"),
    ...definitionsOf(flat).map(layerRow),
  ];
}

function hoistedRow(layer: ToolCaller): DescribedLayer | undefined {
  const observer = observerOf(layer);
  if (observer) return { role: "observer", index: null, name: observer.name, traits: {} };
  const recorder = recorderOf(layer);
  return recorder && { role: "recorder", index: null, name: recorder.name, traits: {} };
}

function layerRow({ name, traits = {} }: LayerDefinition, index: number): DescribedLayer {
  return { role: "layer", index, name, traits };
}
