// The laws have teeth: a kernel with one small thing broken fails the law that forbids it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KERNEL_LAWS } from "../support/kernel-laws.ts";
import type { Core } from "../support/law.ts";

const SOURCE = join(import.meta.dirname, "../../packages/core/src");

interface Sabotage {
  readonly what: string;
  /** Text that stands exactly once in the sources of the kernel. */
  readonly from: string;
  readonly to: string;
  /** How the title begins of the law that has to fail. */
  readonly law: string;
}

const SABOTAGES: readonly Sabotage[] = [
  {
    what: "a throwing layer is not caught",
    from: "this.crash = crashedLayer(this.call, this.name, thrown);",
    to: "throw thrown;",
    law: "a layer that throws becomes a failure",
  },
  {
    what: "layers run in the opposite order",
    from: "return Array.from(layers, spreadOut).flat();",
    to: "return Array.from(layers, spreadOut).flat().reverse();",
    law: "enters layers left to right",
  },
  {
    what: "all dispatches share one list of records",
    from: "lastFrame: Frame | null = null;",
    to: "get lastFrame(): Frame | null { return (globalThis as never as { last?: Frame }).last ?? null; } set lastFrame(frame: Frame | null) { (globalThis as never as { last: Frame | null }).last = frame; }",
    law: "concurrent dispatches keep their own records",
  },
  {
    what: "next still runs the stack once the layer has ended",
    from: "if (this.over) return this.tooLate();",
    to: "",
    law: "next called after the layer has ended",
  },
  {
    what: "an answer is not looked at",
    from: "if (isCompleteResult(answer)) return",
    to: "if (answer) return",
    law: "a layer that answers with nothing",
  },
  {
    what: "a second attempt counts as the first",
    from: "const entry = (this.entries[position] as number) + 1;",
    to: "const entry = 1;",
    law: "next called again is another attempt",
  },
  {
    what: "overlapping inner runs count twice",
    from: "if (this.open === null && recorded !== null)",
    to: "if (recorded !== null)",
    law: "self time is the run less the union",
  },
  {
    what: "observers are told before recorders",
    from: "const recorded = askRecorders(",
    to: "leave(run, fixed, fixed.result, undefined);\n  const recorded = askRecorders(",
    law: "at the end come the result",
  },
  {
    what: "audit that an outer layer drops is gone",
    from: "dispatch.keepAudit(result.audit);",
    to: "dispatch.audit = result.audit;",
    law: "audit reaches the result and the event",
  },
  {
    what: "a failed receipt lets the result go out",
    from: "if (failure !== undefined) result =",
    to: "if (false) result =",
    law: "a receipt that fails withholds the result",
  },
  {
    what: "a decision holds for whatever comes after it",
    from: "binding !== null && !holds(",
    to: "binding !== null && !binding && !holds(",
    law: "a decision holds only for the arguments",
  },
  {
    what: "the policy in force is not asked",
    from: "if (violation !== null) return failedResult",
    to: "if (false) return failedResult",
    law: "a policy in force at the terminal",
  },
  {
    what: "the handler runs outside its leaf",
    from: "runWithin(leaf.observer,",
    to: "((_span: unknown, fn: (leaf: Leaf) => void, arg: Leaf) => fn(arg))(leaf.observer,",
    law: "the handler runs in the context of its own leaf",
  },
  {
    what: "pulls of a stream run where the reader stands",
    from: "runWithin(this.#leaf.observer, startPull, entrant);",
    to: "startPull(entrant);",
    law: "every next, return and throw of a stream",
  },
  {
    what: "the end of a stream does not end the dispatch",
    from: "running.finishWith(",
    to: "void (",
    law: "a stream is handed out at once",
  },
  {
    what: "an observer that throws leaves the call unrun",
    from: "if (!entrant.entered) fn(entrant);",
    to: "",
    law: "an observer that throws at any method",
  },
  {
    what: "an observer that throws fails the call",
    from: "    reportObserver(thrown);\n    return absent;",
    to: "    throw thrown;",
    law: "an observer that throws at any method",
  },
  {
    what: "inner runs that nobody waits for stay open",
    from: "if (this.open !== null) this.abandonInner();",
    to: "",
    law: "inner runs that nobody waits for",
  },
  {
    what: "a late handler is told of before the end",
    from: "if (this.ended) this.tellLate",
    to: "if (true) this.tellLate",
    law: "inner runs that nobody waits for",
  },
  {
    what: "two readings may tie",
    from: "this.last = elapsed > this.last ? elapsed : this.last + 1;",
    to: "this.last = Math.floor(elapsed / 1e9);",
    law: "every child lies within its parent's window",
  },
  {
    what: "a refusal is not recorded",
    from: "return end(run, ok ? { ...failed, ok, error: null, errorCategory: null } : failed);",
    to: "return failed as DispatchResult;",
    law: "dispatches, spans and receipts are equal in number",
  },
];

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolspan-sabotage-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Replaces the text while the copy is bundled. */
function patch({ from, to }: Sabotage): Plugin {
  let found = 0;
  return {
    name: "sabotage",
    transform: {
      order: "pre",
      handler(code, id) {
        if (!id.startsWith(SOURCE) || !code.includes(from)) return undefined;
        found += code.split(from).length - 1;
        return code.replace(from, () => to);
      },
    },
    buildEnd() {
      if (found !== 1) throw new Error(`the text to patch was found ${found} times, expected once: ${from}`);
    },
  };
}

/** Laws that a copy of the kernel breaks, by title. */
async function brokenLaws(number: number, sabotage?: Sabotage): Promise<readonly string[]> {
  const outDir = join(folder, String(number));
  await build({
    configFile: false,
    logLevel: "silent",
    plugins: sabotage === undefined ? [] : [patch(sabotage)],
    build: {
      outDir,
      minify: false,
      lib: { entry: join(SOURCE, "index.ts"), formats: ["es"], fileName: () => "core.mjs" },
    },
  });
  const core = (await import(/* @vite-ignore */ pathToFileURL(join(outDir, "core.mjs")).href)) as Core;
  core.diagnostics.listen(() => {});
  const broken: string[] = [];
  for (const { title, check } of KERNEL_LAWS) {
    if (sabotage !== undefined && !title.startsWith(sabotage.law)) continue;
    await within(5000, check(core)).catch(() => broken.push(title));
  }
  return broken;
}

/** A law that a sabotaged kernel keeps waiting is broken too. */
async function within(ms: number, checked: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer")), ms);
  });
  await Promise.race([checked, late]).finally(() => clearTimeout(timer));
}

describe("a copy of the kernel", { timeout: 60_000 }, () => {
  it("that nobody touched breaks no law", async () => {
    expect(await brokenLaws(0)).toEqual([]);
  });

  it.each(SABOTAGES.map((sabotage, n) => ({ ...sabotage, n: n + 1 })))(
    "in which $what breaks a law",
    async (sabotage) => {
      const [broken, ...others] = await brokenLaws(sabotage.n, sabotage);
      expect([broken?.startsWith(sabotage.law), others]).toEqual([true, []]);
    },
  );
});
