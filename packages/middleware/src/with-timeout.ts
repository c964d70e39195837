/** The layer that watches how long a tool takes, and stops waiting where it is told to. */

import {
  defineLayer,
  failedResult,
  type Layer,
  type LayerScope,
  type Next,
  type ToolCall,
  type ToolResult,
} from "@toolspan/core";
import { checksFor, MAX_DELAY_MS } from "./assert-option.ts";
import { onAbort } from "./on-abort.ts";

export interface TimeoutOptions {
  /** Budget of one call, milliseconds, integer from 0 to 2,147,483,647. */
  readonly maxMs: number;
  /** Tool name → its own budget in place of `maxMs`. */
  readonly perTool?: Readonly<Record<string, number>>;
  /** What the model is told when a call is given up. Default names tool and budget. */
  readonly message?: string;
  /** `observe` (default) only says that the budget was breached; `abort` stops waiting. */
  readonly onBreach?: "observe" | "abort";
}

/**
 * Watches how long a tool takes, and with `onBreach: "abort"` stops waiting for it.
 *
 * Observing leaves the result as it is and reports the layer as `timeout`. Aborting asks the tool to stop through
 * `call.signal`; it may still finish unheard, and that is recorded as a late settlement. A tool that blocks the thread
 * cannot be given up: its result is kept and the layer reported as `timeout`. A stream is watched until it closes; once it
 * has begun, aborting can only fire the signal.
 *
 * @returns A layer; when aborting, a breach gives `status: "timeout"`, `errorCategory: "timeout"`.
 * @throws TOOLSPAN_INVALID_OPTION when made, if a budget is not such an integer or `onBreach` is another word.
 */
export function withTimeout(options: TimeoutOptions): Layer {
  const checks = checksFor("withTimeout", options, ["maxMs", "perTool", "message", "onBreach"]);
  checks.count("maxMs", options.maxMs, 0, MAX_DELAY_MS);
  checks.countPerTool("perTool", options.perTool, 0, MAX_DELAY_MS);
  checks.text("message", options.message);
  checks.oneOf("onBreach", options.onBreach, ["observe", "abort"]);
  const { maxMs, message, onBreach = "observe" } = options;
  const perTool = new Map(Object.entries(options.perTool ?? {}));
  const wait = onBreach === "abort" ? giveUp : observe;

  return defineLayer({
    name: "with_timeout",
    traits: { rewritesArgs: "no", audits: false, ...(onBreach === "abort" ? { abandons: true } : {}) },
    call(call, next, scope) {
      const budgetMs = perTool.get(call.toolName) ?? maxMs;
      return wait({ call, next, scope, budgetMs, message });
    },
  });
}

interface Wait {
  readonly call: ToolCall;
  readonly next: Next;
  readonly scope: LayerScope;
  readonly budgetMs: number;
  readonly message: string | undefined;
}

function observe(wait: Wait): Promise<ToolResult> {
  return watched(wait, wait.call, new Watch(wait.budgetMs, () => reportBreach(wait), false));
}

function giveUp(wait: Wait): Promise<ToolResult> {
  const { call, budgetMs, message } = wait;
  const text = message ?? `tool ${call.toolName}: no answer within ${budgetMs} ms`;
  const linked = linkSignal(call.signal);
  return new Promise((resolve, reject) => {
    const onDeadline = (): void => {
      reportBreach(wait);
      // Settled before the tool hears of it: what it does about the signal is no answer any more.
      resolve(failedResult(call, "timeout", "timeout", text));
      linked.abort(new DOMException(text, "TimeoutError"));
    };
    const given = { ...call, signal: linked.signal };
    watched(wait, given, new Watch(budgetMs, onDeadline, true), linked.unlink).then(resolve, reject);
  });
}

/** Runs the rest of the stack under watch: until it settles, a stream until it closes. */
async function watched(wait: Wait, call: ToolCall, watch: Watch, release: () => void = () => {}): Promise<ToolResult> {
  const end = (): void => {
    if (watch.end()) reportBreach(wait);
    release();
  };
  try {
    const result = await wait.next(call);
    if (result.settled === undefined) end();
    else void result.settled.then(end, end);
    return result;
  } catch (thrown) {
    end();
    throw thrown;
  }
}

function reportBreach({ scope, budgetMs }: Wait): void {
  scope.report({ status: "timeout", attributes: { error_category: "timeout", max_ms: budgetMs } });
}

/** Calls `onDeadline` when the budget is over before `end`. */
class Watch {
  readonly #startedMs = performance.now();
  readonly #budgetMs: number;
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  /** `keepsAlive` where an answer depends on the deadline: without it a process with nothing else to do would just end. */
  constructor(budgetMs: number, onDeadline: () => void, keepsAlive: boolean) {
    this.#budgetMs = budgetMs;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      onDeadline();
    }, budgetMs);
    if (!keepsAlive) this.#timer.unref?.(); // a number in runtimes other than Node
  }

  /** True when the budget was over and the timer could not say so, because the thread was blocked. */
  end(): boolean {
    clearTimeout(this.#timer);
    return !this.#isOver && performance.now() - this.#startedMs > this.#budgetMs;
  }
}

interface LinkedSignal {
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  readonly unlink: () => void;
}

/** A signal that follows `outer` until it is unlinked. */
function linkSignal(outer: AbortSignal | undefined): LinkedSignal {
  const controller = new AbortController();
  const follow = (): void => controller.abort(outer?.reason);
  if (outer?.aborted === true) follow();
  const unlink = onAbort(outer, follow);
  return {
    signal: controller.signal,
    abort(reason) {
      unlink();
      controller.abort(reason);
    },
    unlink,
  };
}
