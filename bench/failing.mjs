// Row 21: twenty failing tools, ten that reject and ten that throw: how many spans ended, how many receipts were written.
import { createDispatcher } from "@toolspan/core";
import { withAuditLog } from "@toolspan/receipts";
import { captureSpans } from "./sdk.mjs";
import { callOf, telemetry } from "./suite.mjs";

async function rows() {
  const written = [];
  const spans = await captureSpans(async () => {
    const dispatcher = createDispatcher([telemetry(), withAuditLog((receipt) => void written.push(receipt))]);
    for (let i = 0; i < 10; i += 1) {
      await dispatcher(callOf({}), async () => Promise.reject(new Error("rejected")));
      await dispatcher(callOf({}), () => {
        throw new Error("thrown");
      });
    }
  });
  const roots = spans.filter(({ name }) => name.startsWith("execute_tool"));
  const row = (subject, measured) => ({
    row: 21,
    variant: "20 failing tools",
    subject,
    baseline: "made",
    unit: "count",
    target: 20,
    measured,
  });
  return [row("spans ended", roots.length), row("receipts written", written.length)];
}

export const cases = { all: rows };
