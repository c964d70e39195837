// What a careful author writes by hand for the same trace: nested startActiveSpan with the same names, attributes, events and times.
import { SpanStatusCode } from "@opentelemetry/api";

const hrTime = () => {
  const now = performance.timeOrigin + performance.now();
  const seconds = Math.floor(now / 1000);
  return [seconds, Math.round((now - seconds * 1000) * 1e6)];
};

/** Root first, then layers outermost first, then the leaf: the order in which they start. */
const inStartOrder = (spans) =>
  [...spans].sort((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1]);

/**
 * Nested spans around `handler`.
 *
 * @param template Finished spans of one dispatch, whose names, attributes and events are set again.
 * @param layer What each span runs inside itself.
 */
export function handNestedSpans(tracer, template, layer, handler) {
  let inner = handler;
  for (const { name, attributes, events, kind } of inStartOrder(template).reverse()) {
    const next = inner;
    inner = (call) =>
      tracer.startActiveSpan(name, { kind, startTime: hrTime() }, async (span) => {
        try {
          return await layer(call, next);
        } catch (error) {
          span.recordException(error);
          span.setStatus({ code: SpanStatusCode.ERROR });
          throw error;
        } finally {
          // A copy, since whoever writes this by hand writes a literal: the values differ from call to call.
          span.setAttributes({ ...attributes });
          for (const event of events) span.addEvent(event.name, event.attributes, hrTime());
          span.end(hrTime());
        }
      });
  }
  return inner;
}
