// Laws of what redacting layers give the kernel: applied once to what leaves, and failing closed.
import {
  createDispatcher,
  defineLayer,
  diagnostics,
  type LayerDefinition,
  type ToolCaller,
  type ToolResult,
} from "@toolspan/core";
import { beforeEach, describe, expect, it } from "vitest";
import { echo, pass } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

beforeEach(() => diagnostics.listen(() => {}));

const SECRET = "hunter2-canary";
const redacting = (parts: Partial<LayerDefinition>): ToolCaller =>
  defineLayer({ name: "redacts", call: pass, ...parts });
const mask = (result: ToolResult): ToolResult => ({ ...result, result: "***" });

describe("a result redactor", () => {
  it("is applied to what leaves, before recorders and observers, also where its layer never ran", async () => {
    const short: ToolCaller = (call) => ({ ok: true, status: "ok", toolName: call.toolName, result: SECRET });
    for (const layers of [[redacting({ redactResult: mask })], [short, redacting({ redactResult: mask })]]) {
      const recorder = recordingRecorder();
      const observer = recordingObserver();
      const dispatch = createDispatcher([recorder.caller, observer.caller, ...layers]);
      const result = await dispatch({ toolName: "t" }, () => SECRET);
      expect([result.result, recorder.only().result.result, observer.only().ends[0]?.finalResult.result]).toEqual(["***", "***", "***"]); // biome-ignore format: one row
    }
  });

  it("that throws, or answers with nothing or an incomplete result, withholds the result", async () => {
    const breaks: readonly (() => unknown)[] = [
      () => {
        throw new Error(SECRET);
      },
      () => undefined,
      () => null,
      () => ({}),
      () => ({ ok: true, status: "nope", toolName: "t", result: SECRET }),
      () => SECRET,
    ];
    for (const redactResult of breaks) {
      const recorder = recordingRecorder();
      const dispatch = createDispatcher([recorder.caller, redacting({ redactResult: redactResult as never })]);
      const result = await dispatch({ toolName: "t", toolArgs: SECRET }, echo);
      expect([result.ok, result.status, result.executed]).toEqual([false, "tool_middleware_exception", true]);
      expect(JSON.stringify([result, recorder.only().result])).not.toContain(SECRET);
      expect(recorder.outcomes).toHaveLength(1);
    }
  });

  it("stands in the order of the layers, outermost first", async () => {
    const adds = (word: string) =>
      redacting({ redactResult: (result) => ({ ...result, result: `${result.result}${word}` }) });
    const result = await createDispatcher([adds("a"), adds("b")])({ toolName: "t" }, () => "");
    expect(result.result).toBe("ab");
  });
});
