/** Whether content may be recorded, and content as attributes of a span. */

import type { Span } from "@opentelemetry/api";
import { ATTR_TRUNCATED } from "../names.ts";
import { type Environment, readText } from "../start/environment.ts";
import { toContentJson } from "./content-json.ts";

const VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
/** Booleans as JavaScript instrumentations read them, and the words of the Python ones that put content on spans. */
const ON = new Set(["true", "1", "span_only", "span_and_event"]);

/** True only if the variable says that content belongs on spans. Unset, misspelt, `NO_CONTENT` and `EVENT_ONLY` are off. */
export function capturesContent(env: Environment): boolean {
  return ON.has(readText(env, VARIABLE)?.toLowerCase() ?? "");
}

/** Puts content on a span as JSON text within the budget, keeps its full size, and names what was cut. */
export class ContentAttributes {
  readonly #span: Span;
  readonly #maxBytes: number;
  readonly #onCut: () => void;
  readonly #truncated: string[] = [];

  /** @param onCut Called once for each attribute that was cut. */
  constructor(span: Span, maxBytes: number, onCut: () => void) {
    this.#span = span;
    this.#maxBytes = maxBytes;
    this.#onCut = onCut;
  }

  /** Sets `name` to the JSON of `value`, and `sizeName` to its full size in bytes. */
  set(name: string, value: unknown, sizeName?: string): void {
    const { json, bytes, truncated } = toContentJson(value, this.#maxBytes);
    this.#span.setAttribute(name, json);
    if (sizeName !== undefined) this.#span.setAttribute(sizeName, bytes);
    if (truncated) this.#wasCut(name);
  }

  /** Sets `name` to `text` as it stands, within the budget. */
  text(name: string, text: string): void {
    const kept = cutText(text, this.#maxBytes);
    this.#span.setAttribute(name, kept);
    if (kept !== text) this.#wasCut(name);
  }

  #wasCut(name: string): void {
    this.#truncated.push(name);
    this.#onCut();
    this.#span.setAttribute(ATTR_TRUNCATED, [...this.#truncated]);
  }
}

/** `text` within `maxBytes` of UTF-8, cut between code points. */
export function cutText(text: string, maxBytes: number): string {
  const { json, truncated } = toContentJson(text, maxBytes);
  return truncated ? (JSON.parse(json) as string) : text;
}
