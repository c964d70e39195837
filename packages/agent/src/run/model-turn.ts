/** Checks that what a model answered is a turn, before anything acts on it. */

import { kindOf, ToolspanError } from "@toolspan/core";
import type { ModelTurn } from "../model/model.ts";

/** @throws TOOLSPAN_INVALID_TURN naming the place that is wrong. */
export function assertModelTurn(model: string, turn: unknown): asserts turn is ModelTurn {
  const expect = (fits: boolean, place: string, expected: string, received: unknown): void => {
    if (!fits) {
      throw new ToolspanError("TOOLSPAN_INVALID_TURN", { model, place, expected, received: kindOf(received) });
    }
  };
  expect(isRecord(turn), "the turn", "an object with content and toolCalls", turn);
  const { content, toolCalls, followUp } = turn as Readonly<Record<string, unknown>>;
  const isContent = content === null || typeof content === "string" || Array.isArray(content);
  expect(isContent, "content", "a string, an array of parts or null", content);
  if (followUp !== undefined) {
    const isFollowUp = isRecord(followUp) && Array.isArray(followUp.messages) && typeof followUp.last === "boolean";
    expect(isFollowUp, "followUp", "{ messages, last }", followUp);
  }
  if (toolCalls === undefined) return;
  expect(Array.isArray(toolCalls), "toolCalls", "an array", toolCalls);
  for (const [position, call] of (toolCalls as readonly unknown[]).entries()) {
    const place = `toolCalls[${position}]`;
    expect(isRecord(call), place, "an object with id, name and rawArgs", call);
    const { id, name, rawArgs } = call as Readonly<Record<string, unknown>>;
    expect(id === null || typeof id === "string", `${place}.id`, "a string or null", id);
    expect(typeof name === "string", `${place}.name`, "a string", name);
    expect(typeof rawArgs === "string", `${place}.rawArgs`, "a string", rawArgs);
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
