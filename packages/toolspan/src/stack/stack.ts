/** The command `stack`: the order in which a module's layers run, as a picture, and what is wrong with it. */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  composeToolCallers,
  type Finding,
  type StackDescription,
  type ToolCaller,
  ToolspanError,
} from "@toolspan/core";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { isRegularFile } from "../files/files.ts";
import type { Console } from "../terminal/console.ts";
import type { Paint } from "../terminal/paint.ts";
import { terminalText } from "../terminal/terminal-text.ts";

export interface StackOptions {
  readonly json?: true;
}

/** What can say how it runs: a composition, a dispatcher. */
interface Described {
  describe(): StackDescription;
  lint(): readonly Finding[];
}

/**
 * Loads a module and looks at what it exports as `stack`: a list of layers, a composition, or a dispatcher.
 *
 * The module is run to be read, as `import` does it; no call is dispatched.
 *
 * @returns 1 where the order has a finding from `warning` up, else 0.
 * @throws CommandError where there is no such module, it cannot be loaded, or it exports no stack.
 */
export async function stack(console: Console, path: string, { json }: StackOptions): Promise<ExitCode> {
  if (!(await isRegularFile(path))) throw new CommandError(`${path}: no such file`);
  const described = toDescribed(path, await load(path));
  const picture = described.describe();
  const findings = described.lint();
  if (json) console.out.write(`${JSON.stringify({ layers: picture.layers, findings })}\n`);
  else for (const line of lines(picture, findings, console.out.paint)) console.out.write(`${line}\n`);
  return findings.some(({ severity }) => severity !== "info") ? EXIT.failed : EXIT.ok;
}

async function load(path: string): Promise<unknown> {
  try {
    const module = (await import(pathToFileURL(resolve(path)).href)) as { readonly stack?: unknown };
    return module.stack;
  } catch (cause) {
    const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    throw new CommandError(`${path}: could not be loaded (${why.replaceAll("\n", " ")})`, EXIT.failed, { cause });
  }
}

function toDescribed(path: string, exported: unknown): Described {
  if (isDescribed(exported)) return exported;
  try {
    if (Array.isArray(exported)) return composeToolCallers(exported as readonly ToolCaller[]);
    if (typeof exported === "function") return composeToolCallers([exported as ToolCaller]);
  } catch (thrown) {
    if (ToolspanError.is(thrown))
      throw new CommandError(`${path}: stack: ${thrown.message}`, EXIT.usage, { cause: thrown });
    throw thrown;
  }
  throw new CommandError(`${path}: exports no stack: expected a list of layers, a composition or a dispatcher`);
}

function isDescribed(value: unknown): value is Described {
  const { describe, lint } = (typeof value === "function" ? value : {}) as Partial<Described>;
  return typeof describe === "function" && typeof lint === "function";
}

function lines(picture: StackDescription, findings: readonly Finding[], paint: Paint): readonly string[] {
  const drawn = String(picture);
  return [
    ...(drawn === "" ? ["no layer: every call goes straight to its tool"] : drawn.split("\n").map(terminalText)),
    "",
    ...(findings.length === 0 ? [paint.good("no finding")] : findings.map((finding) => findingLine(finding, paint))),
  ];
}

function findingLine({ severity, rule, message }: Finding, paint: Paint): string {
  const shade = { error: paint.bad, warning: paint.warn, info: paint.strong }[severity];
  return `${shade(severity)} ${terminalText(`${rule}: ${message}`)}`;
}
