/** One run of an agent: ask the model, answer its tool calls, repeat until somebody says stop. */

import { diagnostics, type ModelInfo, type OperationReport, type Report, type Turn } from "@toolspan/core";
import type { ModelToolCall, ModelTurn } from "../model/model.ts";
import { toAssistantMessage } from "../model/model-arguments.ts";
import type { AssistantMessage, Message } from "../transcript/message.ts";
import { orAbort } from "./abort.ts";
import { assertModelTurn } from "./model-turn.ts";
import { ReceiptDrain } from "./receipt-drain.ts";
import type { RunResult } from "./run-result.ts";
import type { RunOptions, RunSettings } from "./run-settings.ts";
import { RunSignal } from "./run-signal.ts";
import { RunStop, type StopReason } from "./run-stop.ts";
import { type CallReport, runToolTurn, type ToolTurn, toToolMessage } from "./tool-turn.ts";

export class AgentRun {
  readonly #settings: RunSettings;
  readonly #options: RunOptions;
  readonly #runId: string;
  readonly #messages: Message[];
  readonly #signal: RunSignal;
  readonly #stop = new RunStop();
  readonly #calls: CallReport[] = [];
  #modelCalls = 0;
  #modelTurns: number;
  #toolCalls = 0;
  #retries = 0;
  #inputTokens = 0;
  #outputTokens = 0;

  constructor(settings: RunSettings, input: readonly Message[], runId: string, options: RunOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#runId = runId;
    this.#messages = [...input];
    this.#modelTurns = input.filter(({ role }) => role === "assistant").length;
    this.#signal = new RunSignal(options.signal, settings.limits.deadlineMs);
  }

  /** Runs to the end and says how it was. Rejects with what the model or, by `rethrow`, a tool threw. */
  async finish(report: Report): Promise<RunResult> {
    const leave = ReceiptDrain.of(this.#settings.dispatcher).join(this.#stop);
    try {
      await this.#loop();
      await this.#drain();
    } catch (thrown) {
      await this.#drainAfterThrow();
      report(this.#spent());
      throw thrown;
    } finally {
      leave();
      this.#signal.release();
    }
    const result = this.#result();
    report({ ...this.#spent(), ...failure(result.stopReason) });
    return result;
  }

  async #loop(): Promise<void> {
    const { maxModelCalls } = this.#settings.limits;
    while (this.#goesOn()) {
      if (this.#modelCalls >= maxModelCalls) return this.#stop.say("max_model_calls");
      const turn = await this.#askModel();
      if (turn === undefined) return;
      const { toolCalls = [], followUp } = turn;
      if (toolCalls.length > 0) await this.#answer(toolCalls);
      if (!this.#goesOn()) return;
      this.#messages.push(...(followUp?.messages ?? []));
      if (followUp?.last ?? toolCalls.length === 0) return;
    }
  }

  #goesOn(): boolean {
    const { cause } = this.#signal;
    if (cause !== undefined) this.#stop.say(cause);
    return this.#stop.reason === undefined;
  }

  /** Undefined when the run was ended meanwhile. */
  async #askModel(): Promise<ModelTurn | undefined> {
    this.#modelCalls += 1;
    const { dispatcher, model } = this.#settings;
    const messages = [...this.#messages];
    try {
      return await dispatcher.model(this.#modelInfo(messages), async (report) => {
        const turn = await orAbort(this.#generate(messages), this.#signal.signal);
        assertModelTurn(model.name, turn);
        this.#inputTokens += turn.usage?.inputTokens ?? 0;
        this.#outputTokens += turn.usage?.outputTokens ?? 0;
        const message = toAssistantMessage(turn);
        this.#messages.push(message);
        this.#modelTurns += 1;
        report(modelReport(turn, message));
        return turn;
      });
    } catch (thrown) {
      if (this.#signal.cause === undefined) throw thrown;
      this.#goesOn();
      return undefined;
    }
  }

  async #generate(messages: readonly Message[]): Promise<ModelTurn> {
    const { model, tools } = this.#settings;
    const { signal } = this.#signal;
    const request = { messages, tools: tools.tools, iteration: this.#modelCalls };
    return model.generate(request, signal === undefined ? {} : { signal });
  }

  #modelInfo(inputMessages: readonly Message[]): ModelInfo {
    const { agentName, model } = this.#settings;
    const { sessionId } = this.#options;
    return {
      model: model.name,
      ...(model.provider === undefined ? {} : { provider: model.provider }),
      agentName,
      ...(sessionId === undefined ? {} : { sessionId }),
      iteration: this.#modelCalls,
      inputMessages,
    };
  }

  async #answer(asked: readonly ModelToolCall[]): Promise<void> {
    const reports = await runToolTurn(this.#toolTurn(), asked);
    for (const report of reports) {
      this.#calls.push(report);
      this.#messages.push(toToolMessage(report));
    }
  }

  #toolTurn(): ToolTurn {
    const { dispatcher, tools, limits } = this.#settings;
    return {
      dispatcher,
      tools,
      limits,
      signal: this.#signal,
      stop: this.#stop,
      turn: this.#turn(),
      meta: this.#options.meta,
      spendCall: () => {
        this.#toolCalls += 1;
        return this.#toolCalls <= limits.maxToolCalls;
      },
      spendRetry: () => {
        this.#retries += 1;
        return this.#retries <= limits.maxRetries;
      },
      drain: () => this.#drain(),
    };
  }

  #turn(): Turn {
    const { agentName, model, prefetchNextTurn } = this.#settings;
    const { sessionId } = this.#options;
    return {
      iteration: this.#modelCalls,
      runId: this.#runId,
      turnIndex: this.#modelTurns - 1,
      model: model.name,
      agentName,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(model.provider === undefined ? {} : { provider: model.provider }),
      ...(prefetchNextTurn ? { prefetchNextTurn } : {}),
    };
  }

  async #drain(): Promise<void> {
    if (this.#settings.prefetchNextTurn) await ReceiptDrain.of(this.#settings.dispatcher).wait();
  }

  /** What was thrown goes to the caller; a receipt that failed beside it is said elsewhere. */
  async #drainAfterThrow(): Promise<void> {
    await this.#drain();
    if (this.#stop.reason === "receipt_failed") {
      diagnostics.report("agent.drain", "receipt_failed", "a deferred receipt failed in a run that threw as well");
    }
  }

  #spent(): OperationReport {
    const tokens = this.#inputTokens + this.#outputTokens;
    return {
      modelCalls: this.#modelCalls,
      toolCalls: this.#toolCalls,
      ...(tokens === 0 ? {} : { inputTokens: this.#inputTokens, outputTokens: this.#outputTokens }),
    };
  }

  #result(): RunResult {
    const { reason = "end", error } = this.#stop;
    return {
      runId: this.#runId,
      stopReason: reason as StopReason,
      ...(error === undefined ? {} : { error }),
      messages: this.#messages,
      calls: this.#calls,
      modelCalls: this.#modelCalls,
      toolCalls: this.#toolCalls,
      failedToolCalls: this.#calls.filter(({ result }) => result?.ok !== true).length,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
    };
  }
}

function modelReport(turn: ModelTurn, message: AssistantMessage): OperationReport {
  const { usage, responseModel, finishReason, toolCalls = [] } = turn;
  return {
    finishReasons: [finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop")],
    ...(responseModel === undefined ? {} : { responseModel }),
    ...(usage?.inputTokens === undefined ? {} : { inputTokens: usage.inputTokens }),
    ...(usage?.outputTokens === undefined ? {} : { outputTokens: usage.outputTokens }),
    toolCalls: toolCalls.length,
    outputMessages: [message],
  };
}

function failure(stopReason: StopReason): OperationReport {
  if (stopReason === "end") return {};
  return { errorType: stopReason === "aborted" || stopReason === "receipt_failed" ? stopReason : "limit_exceeded" };
}
