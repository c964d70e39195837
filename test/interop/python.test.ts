// Canonical texts and hashes against an implementation in another language that knows nothing of this one.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canonicalJson } from "@toolspan/canonical";
import { plainHasher } from "@toolspan/canonical/hash";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { iJson } from "../canonical/arbitraries.ts";
import { runPython, whyNoPython } from "./python.ts";

const title = whyNoPython === undefined ? "" : ` (skipped: ${whyNoPython})`;

describe.skipIf(whyNoPython !== undefined)(`Python's rfc8785${title}`, () => {
  test("writes the same text for random documents", () => {
    const documents = fc.sample(iJson, { numRuns: 3000, seed: 8785 });
    const { stdout, stderr, status } = runPython(
      "canonicalize.py",
      [],
      documents.map((document) => `${JSON.stringify(document)}\n`).join(""),
    );
    expect(stderr).toBe("");
    expect(status).toBe(0);
    // Only \n parts lines: texts may hold U+2028 and its like.
    const texts = stdout.split("\n").slice(0, -1);
    expect(texts).toHaveLength(documents.length);
    for (const [i, document] of documents.entries()) expect(texts[i]).toBe(canonicalJson(document));
  });
});

describe.skipIf(whyNoPython !== undefined)(`check_receipts.py${title}`, () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "toolspan-interop-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const hasher = plainHasher({ redact: ["payment_id"] });
  const airline = new URL("../../examples/airline/airline-gpt4o-28.jsonl", import.meta.url).pathname;
  const own = {
    id: "own",
    messages: [
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: null,
        tool_calls: [call('{"b":1.0,"a":"\\ud83d\\ude00"}'), call("{not json"), call("")],
      },
      { role: "tool", content: "1" },
      {
        role: "tool",
        content: [
          { type: "text", text: "é" },
          { type: "text", text: "\u2028" },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [call('{"$toolspan":1,"n":12345678901234567890}'), call('["\\ud800"]')],
      },
      { role: "tool", content: "Error: no" },
    ],
  };

  interface Message {
    readonly role: string;
    readonly content: string | null | readonly { readonly text: string }[];
    readonly tool_calls?: readonly ReturnType<typeof call>[];
  }

  function call(text: string) {
    // One id for all of them: nothing may be matched by it.
    return { id: "call_1", type: "function", function: { name: "t", arguments: text } };
  }

  function receiptsOf({ id, messages }: { id: string; messages: readonly Message[] }) {
    let iteration = 0;
    return messages.flatMap((message, at) => {
      if (message.role !== "assistant") return [];
      iteration += 1;
      const calls = message.tool_calls ?? [];
      const after = messages.slice(at + 1, at + 1 + calls.length);
      const answered = after.findIndex(({ role }) => role !== "tool");
      const answers = after.slice(0, answered < 0 ? after.length : answered).map(({ content }) => textOf(content));
      return calls.map((made, emitOrder) => {
        const answer = answers[emitOrder];
        const args = digestOf(made.function.arguments);
        return {
          record: "receipt",
          session_id: id,
          run_id: null,
          iteration,
          emit_order: emitOrder,
          tool_name: made.function.name,
          args_hash: args.hash,
          args_redacted: args.redacted,
          executed_args_hash: answer === undefined ? null : args.hash,
          result_hash: answer === undefined ? null : hasher.value(answer).hash,
        };
      });
    });
  }

  function textOf(content: Message["content"]): string {
    return typeof content === "string" ? content : (content ?? []).map(({ text }) => text).join("");
  }

  function digestOf(text: string) {
    if (text === "") return hasher.value({});
    try {
      return hasher.value(JSON.parse(text));
    } catch {
      return hasher.text(text);
    }
  }

  function check(transcripts: string, receipts: readonly object[]) {
    // The order of lines in a file is the order of completion: here, backwards.
    writeFileSync(
      join(folder, "receipts.jsonl"),
      receipts
        .toReversed()
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    );
    return runPython("check_receipts.py", [transcripts, folder]);
  }

  function ownTranscript(): string {
    const path = join(folder, "runs.txt");
    writeFileSync(path, `${JSON.stringify(own)}\n`);
    return path;
  }

  test("finds every hash of the recorded airline conversations equal", () => {
    const runs = readFileSync(airline, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const receipts = runs.flatMap(receiptsOf);
    const { stdout, status } = check(airline, receipts);
    expect(receipts.some(({ args_redacted }) => args_redacted.length > 0)).toBe(true);
    expect(stdout).toBe("146 receipts of 26 runs checked (146 executed), 0 mismatches\n");
    expect(status).toBe(0);
  });

  test("agrees on unparsable and empty arguments, integers beyond doubles, escaped keys, missing answers", () => {
    const { stdout, status } = check(ownTranscript(), receiptsOf(own));
    expect(stdout).toBe("5 receipts of 1 runs checked (3 executed), 0 mismatches\n");
    expect(status).toBe(0);
  });

  test.each(["args_hash", "executed_args_hash", "result_hash"])("finds a %s that is not the transcript's", (field) => {
    const receipts = receiptsOf(own);
    const wrong = receipts.map((receipt, i) =>
      i === 3 ? { ...receipt, [field]: `sha256:${"0".repeat(64)}` } : receipt,
    );
    const { stdout, status } = check(ownTranscript(), wrong);
    expect(stdout).toContain(`call 3: ${field}: sha256:0000`);
    expect(status).toBe(1);
  });

  test("finds swapped, missing and foreign receipts", () => {
    const receipts = receiptsOf(own);
    const swapped = receipts.map((receipt, i) => ({ ...receipt, emit_order: i < 2 ? 1 - i : receipt.emit_order }));
    expect(check(ownTranscript(), swapped).status).toBe(1);
    expect(check(ownTranscript(), receipts.slice(1)).stdout).toContain("4 receipts for 5 calls");
    expect(
      check(
        ownTranscript(),
        receipts.map((receipt) => ({ ...receipt, session_id: "other" })),
      ).stdout,
    ).toContain("own: no receipts");
    expect(check(ownTranscript(), []).status).toBe(1);
  });
});
