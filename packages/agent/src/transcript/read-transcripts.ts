/** Reads a file of recorded conversations, one per line, without holding more than one of them. */

import { ToolspanError } from "@toolspan/core";
import { type Line, splitLines } from "./split-lines.ts";
import { type Transcript, toTranscript } from "./transcript.ts";

/** One line of a file: a conversation, or what is wrong with it. */
export type TranscriptLine =
  | { readonly line: number; readonly run: Transcript; readonly error?: undefined }
  | { readonly line: number; readonly run?: undefined; readonly error: ToolspanError<"TOOLSPAN_INVALID_TRANSCRIPT"> };

type Decode = (bytes: Uint8Array) => string | undefined;

const DEFAULT_MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Yields every conversation of a JSONL source in order; a malformed line is yielded as its error and the next ones are still read.
 *
 * Memory is bounded by one line and one chunk. Blank lines are passed over but counted.
 *
 * @param source Bytes in chunks of any size (`createReadStream(path)`), or text; UTF-8.
 * @param options.maxLineBytes Longest line that is read, default 16 MiB; a longer one is an error.
 * @throws Only what `source` throws.
 */
export async function* readTranscripts(
  source: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  options: { readonly maxLineBytes?: number } = {},
): AsyncGenerator<TranscriptLine, void, void> {
  const maxLineBytes = options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES;
  const decode = strictDecoder();
  for await (const line of splitLines(source, maxLineBytes)) {
    const read = readLine(line, decode, maxLineBytes);
    if (read !== undefined) yield read;
  }
}

function readLine({ number: line, bytes }: Line, decode: Decode, maxLineBytes: number): TranscriptLine | undefined {
  try {
    if (bytes === null) return fail(line, `at most ${maxLineBytes} bytes`, "a longer line");
    const text = decode(bytes) ?? fail(line, "UTF-8", "other bytes");
    if (text.trim() === "") return undefined;
    return { line, run: toTranscript(parse(text) ?? fail(line, "a JSON object or array", "other text"), line) };
  } catch (error) {
    if (ToolspanError.is(error, "TOOLSPAN_INVALID_TRANSCRIPT")) return { line, error };
    throw error;
  }
}

/** UTF-8 to text; undefined where the bytes are something else. */
function strictDecoder(): Decode {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  return (bytes) => {
    try {
      return decoder.decode(bytes);
    } catch {
      return undefined;
    }
  };
}

/** The JSON value of a line; its own error message would quote the line. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fail(line: number, expected: string, received: string): never {
  throw new ToolspanError("TOOLSPAN_INVALID_TRANSCRIPT", { line, place: "", expected, received });
}
