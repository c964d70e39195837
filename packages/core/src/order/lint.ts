/** Known-bad orders of layers, one sentence each; speaks only of what layers declare. */

import type { LayerTraits } from "../ports/layer.ts";
import type { DescribedLayer } from "./describe.ts";

export type Severity = "error" | "warning" | "info";

export interface Finding {
  readonly severity: Severity;
  /** Low-cardinality word of the rule. */
  readonly rule: string;
  readonly message: string;
}

interface OrderRule {
  readonly rule: string;
  readonly severity: Severity;
  readonly outer: (traits: LayerTraits) => boolean;
  readonly inner: (traits: LayerTraits) => boolean;
  readonly message: (outer: string, inner: string) => string;
}

const ORDER_RULES: readonly OrderRule[] = [
  {
    rule: "decider_outside_rewriter",
    severity: "error",
    outer: (traits) => traits.decides === true,
    inner: (traits) => traits.rewritesArgs === "any",
    message: (outer, inner) =>
      `${outer} judges arguments that ${inner} rewrites afterwards, which voids the decision; put ${inner} outside ${outer}`,
  },
  {
    rule: "cache_outside_redaction",
    severity: "error",
    outer: (traits) => traits.caches === true,
    inner: (traits) => traits.redacts === true,
    message: (outer, inner) =>
      `${outer} makes keys of arguments that ${inner} has not masked, though it stores masked results; put ${inner} outside ${outer}`,
  },
  {
    rule: "retry_outside_decider",
    severity: "warning",
    outer: (traits) => traits.retries === true,
    inner: (traits) => traits.decides === true,
    message: (outer, inner) => `${outer} asks ${inner} again at every attempt; put ${inner} outside ${outer}`,
  },
  {
    rule: "retry_outside_retry",
    severity: "warning",
    outer: (traits) => traits.retries === true,
    inner: (traits) => traits.retries === true,
    message: (outer, inner) => `${outer} repeats what ${inner} has repeated, so attempts multiply; keep one of them`,
  },
  {
    rule: "cache_outside_decider",
    severity: "warning",
    outer: (traits) => traits.caches === true,
    inner: (traits) => traits.decides === true,
    message: (outer, inner) =>
      `${outer} answers from earlier results without asking ${inner}; put ${inner} outside ${outer}`,
  },
  {
    rule: "cache_outside_scope",
    severity: "warning",
    outer: (traits) => traits.caches === true,
    inner: (traits) => traits.narrows === true,
    message: (outer, inner) =>
      `${outer} gives out earlier results of tools that ${inner} may forbid; put ${inner} outside ${outer}`,
  },
  {
    rule: "cache_outside_rewriter",
    severity: "info",
    outer: (traits) => traits.caches === true,
    inner: (traits) => traits.rewritesArgs === "any",
    message: (outer, inner) =>
      `${outer} takes calls for the same that ${inner} may then rewrite differently; put ${inner} outside ${outer}`,
  },
  {
    rule: "decider_outside_scope",
    severity: "info",
    outer: (traits) => traits.decides === true,
    inner: (traits) => traits.narrows === true,
    message: (outer, inner) =>
      `${outer} is asked about calls that ${inner} refuses anyway; put ${inner} outside ${outer}`,
  },
  {
    rule: "deadline_outside_decider",
    severity: "info",
    outer: (traits) => traits.abandons === true,
    inner: (traits) => traits.decides === true,
    message: (outer, inner) => `${outer} counts the time that ${inner} takes to decide; put ${inner} outside ${outer}`,
  },
];

/** Findings for rows in running order; `listed` is the order in which people wrote them. */
export function lintStack(running: readonly DescribedLayer[], listed: readonly DescribedLayer[]): readonly Finding[] {
  const layers = running.filter(({ role }) => role === "layer");
  const findings = layers.flatMap((outer, position) =>
    layers.slice(position + 1).flatMap((inner) => ORDER_RULES.flatMap((rule) => applyRule(rule, outer, inner))),
  );
  return [...findings, ...recorderListedLast(listed)];
}

function applyRule(rule: OrderRule, outer: DescribedLayer, inner: DescribedLayer): readonly Finding[] {
  if (!rule.outer(outer.traits) || !rule.inner(inner.traits)) return [];
  return [{ severity: rule.severity, rule: rule.rule, message: rule.message(outer.name, inner.name) }];
}

function recorderListedLast(listed: readonly DescribedLayer[]): readonly Finding[] {
  const last = listed.at(-1);
  if (listed.length < 2 || last?.role !== "recorder") return [];
  return [
    {
      severity: "info",
      rule: "recorder_listed_last",
      message: `${last.name} covers the whole stack wherever it stands; listing it first says so`,
    },
  ];
}
