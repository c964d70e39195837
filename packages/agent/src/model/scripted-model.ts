/** A model that plays a script: for tests, examples and dry runs. */

import { ToolspanError } from "@toolspan/core";
import type { FollowUp, Model, ModelRequest, ModelTurn, ModelUsage } from "./model.ts";

/** A tool call of a script. */
export interface ScriptedToolCall {
  readonly name: string;
  /** Default `call_<iteration>_<position>`. */
  readonly id?: string | null;
  /** Written as JSON; default `{}`. */
  readonly args?: unknown;
  /** The text itself, in place of `args`: for what is not JSON. */
  readonly rawArgs?: string;
}

/** One turn of a script. */
export interface ScriptedTurn {
  readonly text?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  readonly finishReason?: string;
  readonly usage?: ModelUsage;
  readonly followUp?: FollowUp;
}

export type ScriptStep = ScriptedTurn | ((request: ModelRequest) => ScriptedTurn | Promise<ScriptedTurn>);

/**
 * Answers the nth model call of every run with the nth step of a script.
 *
 * @param script.steps Turns, or functions that see the request; what a function throws is the model's failure.
 * @returns A model without state; a run that asks for more turns than there are steps fails with TOOLSPAN_INVALID_TURN.
 */
export function scriptedModel(script: {
  readonly name?: string;
  readonly provider?: string;
  readonly steps: readonly ScriptStep[];
}): Model {
  const { name = "scripted", provider, steps } = script;
  return {
    name,
    ...(provider === undefined ? {} : { provider }),
    async generate(request) {
      const step = steps[request.iteration - 1];
      if (step === undefined) {
        throw new ToolspanError("TOOLSPAN_INVALID_TURN", {
          model: name,
          place: `step ${request.iteration}`,
          expected: "in the script",
          received: `a script of ${steps.length}`,
        });
      }
      return toTurn(typeof step === "function" ? await step(request) : step, request.iteration);
    },
  };
}

function toTurn({ text, toolCalls = [], ...rest }: ScriptedTurn, iteration: number): ModelTurn {
  return {
    ...rest,
    content: text ?? null,
    toolCalls: toolCalls.map(({ name, id, args, rawArgs }, position) => ({
      id: id === undefined ? `call_${iteration}_${position}` : id,
      name,
      rawArgs: rawArgs ?? JSON.stringify(args ?? {}),
    })),
  };
}
