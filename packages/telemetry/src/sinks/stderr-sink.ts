/** The sink `stderr`: one line per dispatch, for people. */

import type { Sink } from "@toolspan/core";
import type { ToolCallSpan } from "../spans/tool-call-span.ts";

export interface StderrSinkOptions {
  /** Stands before each line. Default `[toolspan] `. */
  readonly prefix?: string;
  /** Takes a line, newline included. Default: the process's standard error. */
  readonly write?: (line: string) => void;
}

/** Writes name, status, duration and layers of each dispatch; control characters are escaped, content is never written. */
export function stderrSink({
  prefix = "[toolspan] ",
  write = toStandardError,
}: StderrSinkOptions = {}): Sink<ToolCallSpan> {
  return {
    export(span) {
      write(`${prefix}${toLine(span)}\n`);
    },
    forceFlush: async () => {},
    shutdown: async () => {},
  };
}

function toLine({ name, status, attributes, span_id, trace_id, otel, child_spans, ...span }: ToolCallSpan): string {
  const took = (Number(BigInt(span.end_time_unix_nano) - BigInt(span.start_time_unix_nano)) / 1e6).toFixed(3);
  const layers = child_spans.map((child) => `${child.name.slice("tool_call.".length)}=${child.status}`);
  const facts = [
    `${escaped(name)} ${escaped(status)} ${took}ms`,
    `call=${escaped(span_id)}`,
    otel === null ? `trace=${escaped(trace_id)}` : `trace=${otel.trace_id} span=${otel.span_id}`,
    ...(attributes.error_type === undefined ? [] : [`error=${escaped(String(attributes.error_type))}`]),
    ...(layers.length === 0 ? [] : [`layers=${escaped(layers.join(","))}`]),
  ];
  return facts.join(" ");
}

/** Text from models must not steer a terminal. */
function escaped(text: string): string {
  return text.replace(/[^\x21-\x7e]/gu, (char) => `\\u{${(char.codePointAt(0) as number).toString(16)}}`);
}

function toStandardError(line: string): void {
  const { process } = globalThis as { process?: { stderr?: { write(line: string): void } } };
  process?.stderr?.write(line);
}
