// A thousand planted secrets of twenty kinds in ten hiding places: found in no span, record, receipt, event, log line or metric.
import { assertNoLeak, LeakError } from "@toolspan/core/testing";
import type { Redactor } from "@toolspan/middleware";
import { redactSecrets } from "@toolspan/middleware/redact-secrets";
import { describe, expect, it } from "vitest";
import { type PlantedSecret, plantedSecrets, secretKinds } from "../support/planted-secrets.ts";
import { hidingPlaces, leakStack } from "./leak-stack.ts";

/** Carries secrets through a full stack and looks for them in every sink. */
async function look(redactor: Redactor, secrets: readonly PlantedSecret[], captureContent: boolean): Promise<number> {
  const stack = await leakStack(redactor, captureContent);
  try {
    const calls = await stack.carry(secrets);
    assertNoLeak(secrets, await stack.sinks());
    return calls;
  } finally {
    await stack.close();
  }
}

describe("a thousand secrets in ten places", () => {
  const secrets = plantedSecrets(50);

  it("are a thousand, of twenty kinds, no two alike", () => {
    expect(secretKinds).toHaveLength(20);
    expect(hidingPlaces).toHaveLength(10);
    expect(new Set(secrets.map(({ secret }) => secret)).size).toBe(1000);
  });

  it("reach no sink with content on, in 10,000 hidings", { timeout: 600_000 }, async () => {
    expect(await look(redactSecrets(), secrets, true)).toBe(1900);
  });

  it("reach no sink with content off", { timeout: 600_000 }, async () => {
    expect(await look(redactSecrets(), plantedSecrets(10, 3), false)).toBe(380);
  });
});

it("a result that is handed on to the next step of a run is the masked one, there too", async () => {
  const [planted] = plantedSecrets(1);
  const { text } = planted as PlantedSecret;
  const stack = await leakStack(redactSecrets(), true);
  const { dispatch } = stack;
  try {
    const handedOn = await dispatch.run({ agentName: "a" }, async () => {
      const toolCall = { name: "read", arguments: JSON.stringify({ reason: "r", q: text }) };
      await dispatch.model(
        { model: "m", iteration: 1, inputMessages: [{ role: "user", content: text }] },
        async (report) => report({ outputMessages: [{ role: "assistant", toolCall }] }),
      );
      const { result } = await dispatch(
        {
          toolName: "read",
          rawArgs: toolCall.arguments,
          toolArgs: JSON.parse(toolCall.arguments),
          meta: {},
          description: text,
          native: { text },
        },
        () => `found ${text}`,
      );
      await dispatch.model(
        { model: "m", iteration: 2, inputMessages: [{ role: "tool", content: result }] },
        async () => {},
      );
      return result;
    });
    expect(handedOn).toBe("found [redacted:aws_access_key_id]");
    const { spans, results: _, ...others } = await stack.sinks();
    assertNoLeak([planted as PlantedSecret], { spans, ...others, handedOn });
    expect(JSON.stringify(spans)).toContain("gen_ai.input.messages");
  } finally {
    await stack.close();
  }
});

describe("the suite notices", () => {
  it.each(secretKinds)("the missing rule for $kind", { timeout: 60_000 }, async ({ kind, rule }) => {
    const secrets = plantedSecrets(2, 7).filter((secret) => secret.kind === kind);
    const leaks = await look(redactSecrets({ without: [rule] }), secrets, true).then(
      () => [],
      (thrown) => {
        if (thrown instanceof LeakError) return thrown.leaks;
        throw thrown;
      },
    );
    expect(new Set(leaks.map((leak) => leak.kind))).toEqual(new Set([kind]));
  });

  it("a redactor that masks nothing, in every sink that holds content", async () => {
    const secrets = plantedSecrets(1, 9);
    const stack = await leakStack(() => ({}), true);
    try {
      await stack.carry(secrets);
      const sinks = await stack.sinks();
      const leaking = Object.entries(sinks).filter(([place, content]) => {
        try {
          assertNoLeak(secrets, { [place]: content });
          return false;
        } catch {
          return true;
        }
      });
      const names = ["spans", "span records", "span file", "receipts", "receipt file", "events", "results"];
      expect(leaking.map(([place]) => place)).toEqual(names);
    } finally {
      await stack.close();
    }
  });
});
