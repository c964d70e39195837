/** What a redactor is, and how several become one. */

/** What a redactor is asked to mask, once for each part of a call. */
export interface RedactionInput {
  /** `in`: mask `args`. `out`: mask `result`. */
  readonly phase: "in" | "out";
  /** What the part to mask is: arguments (phase `in`); a model's messages (`in`); a tool's result; an error's text, stack or fields; the audit blob. */
  readonly part: "args" | "messages" | "result" | "error" | "audit";
  /** Empty where the part belongs to no one tool. */
  readonly toolName: string;
  /** Phase `in`: the arguments, or their raw text where it could not be parsed. Phase `out`: those the tool got. */
  readonly args: unknown;
  /** Phase `out`: the part to mask. */
  readonly result: unknown;
}

/** What a redactor answers with. What is left out stays as it was; nothing that was given is written to. */
export interface RedactionOutput {
  /** Phase `in`: the masked arguments. The same object where nothing was masked. */
  readonly args?: unknown;
  /** Phase `out`: the masked part, of the same type. The same object where nothing was masked. */
  readonly result?: unknown;
  /** Names of the fields that were masked, as keys or JSON Pointers; never what they held. */
  readonly redactedFields?: readonly string[];
  /** Rule id → how often it matched. */
  readonly redactionRules?: Readonly<Record<string, number>>;
}

/**
 * Masks secrets in one part of a call. Synchronous, so that it can serve the audit blob as well.
 *
 * A throw, a promise, or an answer that is no object counts as a failure, and what could not be masked goes nowhere.
 */
export type Redactor = (input: RedactionInput) => RedactionOutput;

/** One redactor that applies all, first to last, each to what the one before left. */
export function composeRedactors(...redactors: readonly Redactor[]): Redactor {
  return (input) => redactors.reduce<Applied>(applyNext, { input, output: {} }).output;
}

interface Applied {
  readonly input: RedactionInput;
  readonly output: RedactionOutput;
}

function applyNext({ input, output }: Applied, redactor: Redactor): Applied {
  const answer = askRedactor(redactor, input);
  const key = input.phase === "in" ? "args" : "result";
  const fields = [...new Set([...(output.redactedFields ?? []), ...(answer.redactedFields ?? [])])];
  const rules = { ...output.redactionRules };
  for (const [rule, count] of Object.entries(answer.redactionRules ?? {})) rules[rule] = (rules[rule] ?? 0) + count;
  return {
    input: key in answer ? { ...input, [key]: answer[key] } : input,
    output: {
      ...output,
      ...(key in answer ? { [key]: answer[key] } : {}),
      ...(fields.length === 0 ? {} : { redactedFields: fields }),
      ...(Object.keys(rules).length === 0 ? {} : { redactionRules: rules }),
    },
  };
}

/** Asks once. Throws where the answer is none: an object with the masked part, if any, and nothing that is still to come. */
export function askRedactor(redactor: Redactor, input: RedactionInput): RedactionOutput {
  const answer: unknown = redactor(input);
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) {
    throw new TypeError("a redactor answered with something that is no object");
  }
  if (typeof (answer as { readonly then?: unknown }).then === "function") {
    Promise.resolve(answer as PromiseLike<unknown>).then(undefined, () => {});
    throw new TypeError("a redactor answered with a promise; redactors are synchronous");
  }
  return answer;
}
