/** From a line's bytes to the record it holds, and to what is wrong with it. */

import { isAscii, isUtf8 } from "node:buffer";
import stableStringify from "fast-json-stable-stringify";
import { type Chain, chain } from "../../records/envelope.ts";
import { isObject } from "../../records/field.ts";
import { faultOf, type LogRecord } from "../../records/record.ts";
import type { Verdict } from "../verdicts.ts";
import type { Line } from "./line-buffer.ts";

export interface ParsedLine {
  /** Null when the line does not hold one that this version knows. */
  readonly record: LogRecord | null;
  /** Its place, also of a line that is wrong otherwise; null when it has none. */
  readonly chain: Chain | null;
  readonly problem: { readonly verdict: Verdict; readonly message: string } | null;
}

/** Parses and checks one line; with `strict` also that it is canonical, by an implementation that no writer uses. */
export function parseLine(line: Line, strict: boolean): ParsedLine {
  if (line.overlong) return malformed("it is longer than 64 KiB");
  const { bytes } = line;
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) return malformed("it is not UTF-8");
  const text = bytes.toString(ascii ? "latin1" : "utf8");
  const value = parseJson(text);
  if (!isObject(value)) return malformed("it is not a JSON object");
  const fault = faultOf(value);
  const place = fault === null || chain.accepts(value.chain) ? (value.chain as Chain | null) : null;
  if (fault !== null && "unknown" in fault) {
    const message = `this verifier does not know its ${fault.unknown}`;
    return { record: null, chain: place, problem: { verdict: "UNKNOWN_RECORD", message } };
  }
  if (fault !== null)
    return malformed(`its field ${JSON.stringify(fault.field.slice(0, 40))} is not what the schema allows`, place);
  if (place === null) return malformed("it has no place in a chain");
  const record = value as unknown as LogRecord;
  if (strict && stableStringify(value) !== text) {
    const message = "it is not the canonical form of what it holds";
    return { record, chain: place, problem: { verdict: "NOT_CANONICAL", message } };
  }
  return { record, chain: place, problem: null };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function malformed(message: string, place: Chain | null = null): ParsedLine {
  return { record: null, chain: place, problem: { verdict: "MALFORMED", message } };
}
