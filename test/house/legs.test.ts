// Which leg this is: the Node that runs it and the OpenTelemetry line that resolves, printed and asserted.
import { expect, test } from "vitest";
import { loadTraceSdk, resolvedVersions } from "../support/otel-sdk.ts";

test("this leg runs OpenTelemetry 2.x, and on CI the Node it was meant for", async () => {
  const versions = resolvedVersions();
  console.log(`Node ${process.version}; ${JSON.stringify(versions)}`);
  expect((await loadTraceSdk()).line).toBe(2);
  expect(versions["@opentelemetry/api"]).toBe("1.9.1");
  expect(versions["@opentelemetry/sdk-trace-base"]).toBe("2.12.1");
  expect(versions["@opentelemetry/otlp-transformer"]).toBe("0.223.1");
  const major = process.env.TOOLSPAN_EXPECT_NODE;
  if (major !== undefined) expect(process.version).toMatch(new RegExp(`^v${major}\\.`));
});
