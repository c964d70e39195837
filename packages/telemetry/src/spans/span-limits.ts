/** Span limits from the environment: the 2.x line reads them itself in one package and not in the other, 3.x not at all. */

import { type Environment, readNumber } from "../start/environment.ts";

/** Option names of both SDK lines; only what the environment sets. @source OpenTelemetry specification, attribute and span limits */
export function spanLimits(env: Environment): Readonly<Record<string, number>> {
  const limits: readonly (readonly [option: string, ...variables: string[]])[] = [
    ["attributeValueLengthLimit", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"],
    ["attributeCountLimit", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT"],
    ["eventCountLimit", "OTEL_SPAN_EVENT_COUNT_LIMIT"],
    ["linkCountLimit", "OTEL_SPAN_LINK_COUNT_LIMIT"],
    ["attributePerEventCountLimit", "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT"],
    ["attributePerLinkCountLimit", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT"],
  ];
  return Object.fromEntries(
    limits.flatMap(([option, ...variables]) => {
      const value = variables.map((name) => readNumber(env, name, 1)).find((found) => found !== undefined);
      return value === undefined ? [] : [[option, value]];
    }),
  );
}
