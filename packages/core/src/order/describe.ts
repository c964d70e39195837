/** The order in which a stack runs, as data and as a picture; it is the order the dispatcher uses. */

import type { LayerTraits } from "../ports/layer.ts";

/** One row of a description. Observers and recorders stand above index 0 and have index null. */
export interface DescribedLayer {
  readonly role: "observer" | "recorder" | "layer";
  readonly index: number | null;
  readonly name: string;
  readonly traits: LayerTraits;
}

export interface StackDescription {
  /** Outermost first. */
  readonly layers: readonly DescribedLayer[];
  /** The same as an indented picture, one line a layer. */
  toString(): string;
}

/** Describes rows that are already in running order. */
export function describeStack(layers: readonly DescribedLayer[]): StackDescription {
  return { layers, toString: () => layers.map(line).join("\n") };
}

function line({ role, index, name, traits }: DescribedLayer, depth: number): string {
  const notes = Object.entries(traits).map(([trait, value]) => `${trait}=${String(value)}`);
  const label = role === "layer" ? `${index} ${name}` : `${role} ${name}`;
  return `${"  ".repeat(depth)}${label}${notes.length === 0 ? "" : ` (${notes.join(", ")})`}`;
}
