/** `withTelemetry`: one entry in the list of layers that makes every dispatch a span. */

import { type ObserverCaller, observerCaller } from "@toolspan/core";
import { invalid } from "./observer/options-check.ts";
import { silentObserver } from "./observer/silent-observer.ts";
import { OBSERVER_NAME, TelemetryObserver } from "./observer/telemetry-observer.ts";
import { checkArgument, type TelemetryArgument } from "./observer/telemetry-options.ts";
import { toSetup } from "./observer/telemetry-setup.ts";

/**
 * Makes every dispatch one `execute_tool` span with a child span per layer, and passes a span record to sinks.
 *
 * The dispatcher hoists it around the whole stack, wherever it stands. Spans are opened in the registered OpenTelemetry
 * tracer provider, under the active span, whatever the sinks are; where none is registered, sinks of spans have a private one and
 * everything else works without spans. It never changes a call: what fails in telemetry is counted in
 * `toolspan.telemetry.lost` and said once through `diagnostics`. Content is recorded only with opt-in.
 *
 * @param argument A function of the span record; `"otel"`, `"langfuse"`, `"stderr"`, `"jsonl"`, `"noop"`; a sink; or options with `sink` or
 * `sinks`. A second `withTelemetry` in one list adds its sinks to the first.
 * @returns An observer for the list of `createDispatcher`; called by hand it throws TOOLSPAN_NOT_IN_DISPATCHER.
 * @throws TOOLSPAN_INVALID_OPTION when made, for an unknown or wrong option or a second argument; TOOLSPAN_MISSING_PEER for
 *   `"langfuse"` where a package of it is not installed.
 */
export function withTelemetry(argument: TelemetryArgument, ...more: readonly never[]): ObserverCaller {
  if (more.length > 0) throw invalid("withTelemetry", "its only argument", "a sink, or options with sink", "more");
  const checked = checkArgument(argument);
  const setup = toSetup(checked);
  return observerCaller(
    setup === null ? silentObserver(OBSERVER_NAME, checked.options.hasher) : new TelemetryObserver(setup),
  );
}
