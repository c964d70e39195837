/** Plays a recorded conversation back: its turns as a model, its answers as tools, paired by position. */

import type { Classification, ModelTool, Settled } from "@toolspan/core";
import { ToolspanError } from "@toolspan/core";
import type { AgentTools } from "../run/agent-tools.ts";
import type { InputMessage } from "../transcript/message.ts";
import type { Transcript } from "../transcript/transcript.ts";
import type { Model } from "./model.ts";

/** What an agent needs to go through a recorded run once more. */
export interface Replay {
  /** What was said before the model's first turn: the input of the run. */
  readonly input: readonly InputMessage[];
  readonly model: Model;
  readonly tools: AgentTools;
  /** How many model calls and tool calls there are, for limits. */
  readonly modelCalls: number;
  readonly toolCalls: number;
}

/**
 * Makes a model and tools of a recorded run; both are stateless, so the replay may be run any number of times.
 *
 * The nth model call gives the nth assistant turn, and what the user said afterwards follows it, so one transcript is
 * one run. The nth call of a turn gets the nth answer of that turn, never by id: ids repeat. A call without an answer
 * has no handler, so its dispatch fails as `executor_error`. Make the dispatcher with `classify: classifyTranscript`.
 *
 * @param options.model Name of the recorded model, for spans. Default `replay`.
 */
export function replayTranscript(
  transcript: Transcript,
  options: { readonly model?: string; readonly provider?: string } = {},
): Replay {
  const { input, turns } = transcript;
  return {
    input,
    model: replayModel(transcript, options),
    tools: transcriptTools(transcript),
    modelCalls: turns.length,
    toolCalls: turns.reduce((sum, { toolCalls }) => sum + toolCalls.length, 0),
  };
}

function replayModel({ turns }: Transcript, options: { readonly model?: string; readonly provider?: string }): Model {
  const { model: name = "replay", provider } = options;
  return {
    name,
    ...(provider === undefined ? {} : { provider }),
    async generate({ iteration }) {
      const turn = turns[iteration - 1];
      if (turn === undefined) {
        const expected = `one of the ${turns.length} that were recorded`;
        const place = `turn ${iteration}`;
        throw new ToolspanError("TOOLSPAN_INVALID_TURN", { model: name, place, expected, received: "none" });
      }
      const { content, toolCalls, followedBy } = turn;
      return { content, toolCalls, followUp: { messages: followedBy, last: iteration === turns.length } };
    },
  };
}

function transcriptTools({ turns }: Transcript): AgentTools {
  return {
    tools: namesOf(turns).map((name): ModelTool => ({ name, inputSchema: { type: "object" } })),
    toCall: (toolName, fields) => ({ ...fields, toolName, known: true }),
    handler(_name, { iteration, toolCallIndex = 0 }) {
      const answer = turns[iteration - 1]?.answers[toolCallIndex];
      return answer === undefined ? undefined : () => answer;
    },
  };
}

function namesOf(turns: Transcript["turns"]): readonly string[] {
  return [...new Set(turns.flatMap(({ toolCalls }) => toolCalls.map(({ name }) => name)))];
}

/** For a dispatcher of replays: a recorded answer that begins with `Error:` has failed, and stays the result as it is. */
export function classifyTranscript({ threw, value }: Settled): Classification | undefined {
  if (threw || typeof value !== "string" || !value.startsWith("Error:")) return undefined;
  return { status: "error", errorCategory: "tool_error", error: value };
}
