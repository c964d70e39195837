// Small parts that laws of the kernel are written with.
import type { ToolCall, ToolCaller, ToolHandler, ToolResult } from "@toolspan/core";

export const pass: ToolCaller = (call, next) => next(call);
/** A tool that returns its arguments. */
export const echo: ToolHandler = (call) => call.toolArgs;

/** One turn of the event loop: every microtask that is due has run. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function named(name: string, call: ToolCaller): ToolCaller {
  return Object.defineProperty((...given: Parameters<ToolCaller>) => call(...given), "name", { value: name });
}

/** A layer that says when it is entered and left. */
export function saying(name: string, said: string[]): ToolCaller {
  return named(name, async (call, next) => {
    said.push(`>${name}`);
    const result = await next(call);
    said.push(`<${name}`);
    return result;
  });
}

export function answer(call: ToolCall, fields: Partial<ToolResult> = {}): ToolResult {
  return { ok: true, status: "ok", toolName: call.toolName, result: null, ...fields };
}

export function gate<T = void>(): { readonly opened: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open: (value) => open(value) };
}

export async function* counting(upTo: number): AsyncGenerator<number, void, undefined> {
  for (let n = 1; n <= upTo; n += 1) yield n;
}

export async function drain(result: ToolResult): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const item of result.result as AsyncIterable<unknown>) items.push(item);
  return items;
}

export function statusLine({ status, errorCategory }: ToolResult): string {
  return `${status}/${errorCategory ?? "-"}`;
}

/** The object with a `then` of another making. */
export function withThen(target: object, then: PropertyDescriptor): unknown {
  return Object.defineProperty(target, ["then"].join(), then);
}
