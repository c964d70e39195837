/** Makes agents: a model, its tools, the dispatcher that every call goes through, and limits. */

import {
  type Classify,
  createDispatcher,
  type Dispatcher,
  kindOf,
  type ToolCallAuditEvent,
  type ToolCaller,
  ToolspanError,
  uuidv7,
} from "@toolspan/core";
import { jsonSchemaValidator } from "./json-schema-validator.ts";
import type { Model } from "./model/model.ts";
import { AgentRun } from "./run/agent-run.ts";
import type { AgentTools } from "./run/agent-tools.ts";
import { checkLimits, type Limits } from "./run/limits.ts";
import { classifyRetryBudget } from "./run/retry-budget.ts";
import type { RunResult } from "./run/run-result.ts";
import type { RunOptions } from "./run/run-settings.ts";
import { withAbort } from "./run/with-abort.ts";
import type { Message } from "./transcript/message.ts";

interface AgentParts {
  /** Name of the agent on spans and receipts. */
  readonly name: string;
  readonly model: Model;
  /** A registry, or anything that finds tools. */
  readonly tools: AgentTools;
  readonly limits?: Limits;
  /** Asks the model again while receipts are still being written; a failed one stops the run before the next tool. Default false. */
  readonly prefetchNextTurn?: boolean;
}

/** An agent that makes its own dispatcher: argument validation and `withAbort` outermost come with it. */
export interface AgentOverLayers extends AgentParts {
  readonly layers: readonly ToolCaller[];
  readonly classify?: Classify;
  readonly onAudit?: (event: ToolCallAuditEvent) => void;
  readonly dispatcher?: undefined;
}

/** An agent on a dispatcher that its owner made, with the validator, `withAbort` and `deferReceipts` that it needs. */
export interface AgentOverDispatcher extends AgentParts {
  readonly dispatcher: Dispatcher;
  readonly layers?: undefined;
}

export type AgentOptions = AgentOverLayers | AgentOverDispatcher;

export interface Agent {
  readonly name: string;
  /** Whoever made the layers closes it: `await agent.dispatcher.close()`. */
  readonly dispatcher: Dispatcher;
  /**
   * Runs the model–tool loop once, as one `invoke_agent`. Runs of one agent may overlap; nothing of a run is kept.
   *
   * A limit, the signal or a failed receipt ends the run with its `stopReason`: calls that were not started are
   * refused, each with its own span and receipt.
   *
   * @param input What the user says, or the conversation so far.
   * @throws What the model's `generate` rejected with, TOOLSPAN_INVALID_TURN for an answer that is no turn, or what a
   *   tool threw where a layer set `rethrow`: the same object, after everything has been recorded.
   */
  run(input: string | readonly Message[], options?: RunOptions): Promise<RunResult>;
}

/**
 * Makes an agent.
 *
 * @param options.limits Fail closed: what goes beyond them is refused as `policy_blocked` / `limit_exceeded`.
 * @throws TOOLSPAN_INVALID_OPTION for a missing part or a limit out of range, and what `createDispatcher` throws.
 */
export function createAgent(options: AgentOptions): Agent {
  checkParts(options);
  const { name, model, tools, prefetchNextTurn = false } = options;
  const dispatcher = options.dispatcher ?? makeDispatcher(options, prefetchNextTurn);
  const settings = { agentName: name, model, tools, dispatcher, limits: checkLimits(options.limits), prefetchNextTurn };
  return {
    name,
    dispatcher,
    run(input, runOptions = {}) {
      const { sessionId, runId = uuidv7() } = runOptions;
      const messages: readonly Message[] = typeof input === "string" ? [{ role: "user", content: input }] : input;
      const info = {
        agentName: name,
        runId,
        model: model.name,
        ...(sessionId === undefined ? {} : { sessionId }),
        ...(model.provider === undefined ? {} : { provider: model.provider }),
      };
      return dispatcher.run(info, (report) => new AgentRun(settings, messages, runId, runOptions).finish(report));
    },
  };
}

function makeDispatcher(options: AgentOverLayers, deferReceipts: boolean): Dispatcher {
  const { layers, tools, classify, onAudit } = options;
  const jsonSchema = jsonSchemaValidator();
  return createDispatcher([withAbort(), ...layers], {
    validator: tools.validator?.(jsonSchema) ?? jsonSchema,
    deferReceipts,
    classify: classifyRetryBudget(classify),
    ...(onAudit === undefined ? {} : { onAudit }),
  });
}

function checkParts({ name, model, tools, layers, dispatcher }: AgentOptions): void {
  const expect = (fits: boolean, option: string, expected: string, received: unknown): void => {
    if (fits) return;
    const details = { subject: "createAgent", option, expected, received: kindOf(received) };
    throw new ToolspanError("TOOLSPAN_INVALID_OPTION", details);
  };
  expect(typeof name === "string" && name !== "", "name", "text", name);
  expect(typeof model?.generate === "function" && typeof model.name === "string", "model", "a Model", model);
  expect(typeof tools?.toCall === "function" && typeof tools.handler === "function", "tools", "a registry", tools);
  expect((layers === undefined) !== (dispatcher === undefined), "layers", "given, or else a dispatcher", layers);
}
