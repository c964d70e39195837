// Laws of the terminal: what may run, with what, and where.
import type { ToolCall, ToolCaller } from "@toolspan/core";
import { expect } from "vitest";
import { echo, named, pass, statusLine, turn } from "../kernel-parts.ts";
import type { Law } from "../law.ts";
import { recordingObserver } from "../recording-observer.ts";

export const TERMINAL_LAWS: readonly Law[] = [
  {
    title: "a decision holds only for the arguments it judged: rewriting them afterwards blocks the call",
    async check({ createDispatcher, defineLayer }) {
      const decide = defineLayer({
        name: "decide",
        call(call, next, scope) {
          scope.bindArgs((args) => JSON.stringify(args));
          return next(call);
        },
      });
      const rewrite: ToolCaller = (call, next) => next({ ...call, toolArgs: { path: "/etc" } });
      const copy: ToolCaller = (call, next) => next({ ...call, toolArgs: { ...(call.toolArgs as object) } });
      const mutate: ToolCaller = (call, next) => {
        (call.toolArgs as { path: string }).path = "/etc";
        return next(call);
      };
      const outcome = async (...layers: ToolCaller[]): Promise<string> => {
        const result = await createDispatcher(layers)({ toolName: "t", toolArgs: { path: "/tmp" } }, echo);
        return `${statusLine(result)} ${result.executed}`;
      };
      expect(await outcome(decide, rewrite)).toBe("policy_blocked/consent_voided false");
      expect(await outcome(decide, mutate)).toBe("policy_blocked/consent_voided false");
      expect(await outcome(decide, copy)).toBe("ok/- true");
      expect(await outcome(rewrite, decide)).toBe("ok/- true");
    },
  },
  {
    title: "what the terminal cannot run becomes a failure of its own kind, and the handler stays untouched",
    async check({ createDispatcher }) {
      let ran = 0;
      const run = (): void => void (ran += 1);
      const validator = (call: ToolCall) => (call.toolArgs === "bad" ? [{ path: "/x", message: "is missing" }] : []);
      const dispatch = createDispatcher([pass], { validator });
      const aborted = AbortSignal.abort();
      const lines = await Promise.all([
        dispatch({ toolName: "t" }, undefined),
        dispatch({ toolName: "t", known: false }, undefined),
        dispatch({ toolName: "t", rawArgs: "{" }, run),
        dispatch({ toolName: "t", toolArgs: "bad" }, run),
        dispatch({ toolName: "t", signal: aborted }, run),
      ]);
      expect(lines.map(statusLine)).toEqual([
        "executor_error/no_executor",
        "tool_not_found/tool_not_found",
        "schema_violation/unparsable_arguments",
        "schema_violation/schema_violation",
        "aborted/aborted",
      ]);
      expect([ran, ...lines.map(({ executed }) => executed)]).toEqual([0, false, false, false, false, false]);
    },
  },
  {
    title: "a policy in force at the terminal keeps an offending call from running",
    async check({ createDispatcher, withExecutionPolicy }) {
      let ran = 0;
      const blocked = await withExecutionPolicy({ deniedTools: ["shell"] }, () =>
        createDispatcher([])({ toolName: "shell" }, () => void (ran += 1)),
      );
      expect([blocked.status, ran]).toEqual(["policy_blocked", 0]);
    },
  },
  {
    title: "the handler runs in the context of its own leaf, and every layer in its own",
    async check({ createDispatcher }) {
      const observer = recordingObserver();
      const seen: (string | undefined)[] = [];
      const look = named("look", async (call, next) => {
        seen.push(observer.active());
        const result = await next(call);
        await turn();
        seen.push(observer.active());
        return result;
      });
      await createDispatcher([look, observer.caller])({ toolName: "t" }, async () => {
        seen.push(observer.active());
        await turn();
        seen.push(observer.active());
      });
      expect(seen).toEqual(["look", "leaf#1", "leaf#1", "look"]);
      expect(observer.active()).toBeUndefined();
    },
  },
];
