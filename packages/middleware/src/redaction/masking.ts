/** One redactor at work on one call: what it masks, and the names of what it masked. */

import { askRedactor, type RedactionInput, type Redactor } from "./redactor.ts";

/** Most names of fields that a call's audit lists. */
const MAX_FIELDS = 100;

/** Every method throws where the redactor fails: what could not be masked must go nowhere. */
export class Masking {
  readonly #redactor: Redactor;
  readonly #toolName: string;
  readonly #fields = new Set<string>();
  readonly #rules = new Map<string, number>();
  /** Texts that come more than once in a result, such as an error and what the model is told of it. */
  readonly #texts = new Map<string, string>();
  /** The arguments that went inward: context of what is masked on the way out. */
  #passed: unknown;

  constructor(redactor: Redactor, toolName: string) {
    this.#redactor = redactor;
    this.#toolName = toolName;
  }

  /** Arguments, or their raw text. */
  args(args: unknown): unknown {
    const masked = this.#ask({ phase: "in", part: "args", args, result: undefined }, "args", args);
    if (typeof args === "string" && typeof masked !== "string") throw notText();
    return masked;
  }

  /** The messages of a model call. */
  messages(messages: unknown): unknown {
    return this.#ask({ phase: "in", part: "messages", args: messages, result: undefined }, "args", messages);
  }

  /** Remembers what went inward. */
  passed(args: unknown): void {
    this.#passed = args;
  }

  /** A value on its way out. */
  value(part: "result" | "error" | "audit", value: unknown): unknown {
    return this.#ask({ phase: "out", part, args: this.#passed, result: value }, "result", value);
  }

  /** A text on its way out. */
  text(part: "result" | "error", text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const masked = this.value(part, text);
    if (typeof masked !== "string") throw notText();
    this.#texts.set(text, masked);
    return masked;
  }

  /** True once something was masked that has a name or a rule. */
  get found(): boolean {
    return this.#fields.size > 0 || this.#rules.size > 0;
  }

  /** What to say of it in the audit. */
  get metadata(): Readonly<Record<string, unknown>> {
    const fields = [...this.#fields].sort().slice(0, MAX_FIELDS);
    const rules = Object.fromEntries([...this.#rules].sort());
    return {
      redacted_fields: fields,
      ...(this.#rules.size === 0 ? {} : { redaction_rules: rules }),
    };
  }

  #ask(input: Omit<RedactionInput, "toolName">, key: "args" | "result", value: unknown): unknown {
    const answer = askRedactor(this.#redactor, { ...input, toolName: this.#toolName });
    const { redactedFields = [], redactionRules = {} } = answer;
    if (!Array.isArray(redactedFields)) throw new TypeError("a redactor answered with redactedFields that are no list");
    for (const field of redactedFields as readonly unknown[]) this.#fields.add(String(field));
    for (const [rule, count] of Object.entries(redactionRules)) {
      this.#rules.set(rule, (this.#rules.get(rule) ?? 0) + (Number.isFinite(count) ? count : 1));
    }
    return key in answer ? answer[key] : value;
  }
}

function notText(): TypeError {
  return new TypeError("a redactor answered with something that is no text in place of one");
}
