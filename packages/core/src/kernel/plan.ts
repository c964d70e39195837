/** Everything about a stack that is known before the first call: worked out once, shared by all dispatches. */

import { diagnostics } from "../diagnostics.ts";
import { ToolspanError } from "../errors.ts";
import { type Finding, lintStack } from "../order/lint.ts";
import type { DispatcherOptions } from "../ports/dispatcher-port.ts";
import type { Hasher } from "../ports/hasher.ts";
import type { LayerDefinition, ToolCaller } from "../ports/layer.ts";
import type { Observer } from "../ports/observer.ts";
import type { Recorder } from "../ports/recorder.ts";
import { definitionsOf, flattenLayers, listedRows, observerOf, recorderOf, runningRows } from "./flatten.ts";

export interface Plan {
  readonly flat: readonly ToolCaller[];
  readonly layers: readonly LayerDefinition[];
  readonly observers: readonly Observer[];
  readonly recorders: readonly Recorder[];
  /** Serves all recorded values; null where nobody hashes. */
  readonly hasher: Hasher | null;
  /** False when observers want no hash; recorders always do. */
  readonly observersHash: boolean;
  /** True when a layer may attach audit, whose `layers` need records even where nobody observes. */
  readonly mayAudit: boolean;
  /** True when every layer declares that it leaves the arguments object as it is: one digest then serves entry and end. */
  readonly keepsArgs: boolean;
  readonly intents: boolean;
  /** How often each position of a new dispatch was entered, the handler last: zeros. */
  readonly unentered: readonly number[];
  readonly redaction: Redaction;
}

/** What redacting layers gave the kernel to apply, in running order. */
export interface Redaction {
  readonly audit: readonly NonNullable<LayerDefinition["redactAudit"]>[];
  readonly content: readonly NonNullable<LayerDefinition["redactContent"]>[];
  readonly result: readonly NonNullable<LayerDefinition["redactResult"]>[];
}

/** @throws TOOLSPAN_INVALID_LAYER, TOOLSPAN_SECOND_RECORDER, TOOLSPAN_HASHER_CONFLICT, TOOLSPAN_LINT when made. */
export function makePlan(layers: readonly ToolCaller[], options: DispatcherOptions): Plan {
  const flat = flattenLayers(layers);
  actOnFindings(lintStack(runningRows(flat), listedRows(flat)), options.onFinding ?? "ignore");
  const definitions = definitionsOf(flat);
  const observers = mergeObservers(flat.flatMap((layer) => observerOf(layer) ?? []));
  const recorders = flat.flatMap((layer) => recorderOf(layer) ?? []);
  refuseSecondRecorder(recorders);
  const observersHash = observers.some(({ defaultHasher }) => defaultHasher !== undefined);
  return {
    flat,
    layers: definitions,
    observers,
    recorders,
    hasher: chooseHasher(observers, recorders),
    observersHash,
    mayAudit: definitions.some(({ traits }) => traits?.audits !== false),
    keepsArgs: definitions.every(({ traits }) => traits?.rewritesArgs !== undefined && traits.rewritesArgs !== "any"),
    intents: recorders.some(({ intent }) => intent !== undefined),
    unentered: [...definitions, undefined].map(() => 0),
    redaction: {
      audit: definitions.flatMap(({ redactAudit }) => redactAudit ?? []),
      content: definitions.flatMap(({ redactContent }) => redactContent ?? []),
      result: definitions.flatMap(({ redactResult }) => redactResult ?? []),
    },
  };
}

function actOnFindings(findings: readonly Finding[], onFinding: "ignore" | "warn" | "throw"): void {
  const serious = findings.filter(({ severity }) => severity !== "info").map(({ message }) => message);
  if (serious.length === 0 || onFinding === "ignore") return;
  if (onFinding === "throw") throw new ToolspanError("TOOLSPAN_LINT", { findings: serious });
  for (const message of serious) diagnostics.report("kernel.lint", message, message);
}

function mergeObservers(observers: readonly Observer[]): readonly Observer[] {
  const merged: Observer[] = [];
  for (const observer of observers) {
    const position = merged.findIndex((earlier) => {
      const both = earlier.merge?.(observer);
      if (both !== undefined) merged[merged.indexOf(earlier)] = both;
      return both !== undefined;
    });
    if (position === -1) merged.push(observer);
  }
  return merged;
}

function refuseSecondRecorder(recorders: readonly Recorder[]): void {
  const names = recorders.map(({ name }) => name);
  const second = names.find((name, position) => names.indexOf(name) !== position);
  if (second !== undefined) throw new ToolspanError("TOOLSPAN_SECOND_RECORDER", { name: second });
}

function chooseHasher(observers: readonly Observer[], recorders: readonly Recorder[]): Hasher | null {
  const configured = [...observers, ...recorders].filter(({ hasher }) => hasher !== undefined);
  const [first, ...others] = configured;
  const other = others.find(({ hasher }) => !sameHasher(hasher as Hasher, first?.hasher as Hasher));
  if (first && other) {
    throw new ToolspanError("TOOLSPAN_HASHER_CONFLICT", { first: first.name, second: other.name });
  }
  const unconfigured = [...recorders, ...observers].find(({ defaultHasher }) => defaultHasher !== undefined);
  return first?.hasher ?? unconfigured?.defaultHasher ?? null;
}

function sameHasher(one: Hasher, two: Hasher): boolean {
  if (one === two) return true;
  const settings = ({ mode, keyId, redact }: Hasher): string => JSON.stringify([mode, keyId, [...redact].sort()]);
  return one.mode === "sha256" && settings(one) === settings(two);
}
