/** The published vectors, and the one check that every encoder goes through. */
import { readFileSync } from "node:fs";
import { doubleOf } from "./number-sequence.ts";

interface FileVector {
  readonly input_base64: string;
  readonly output_hex: string;
}

/** cyberphone/json-canonicalization, by file name. */
export const FILE_VECTORS: Readonly<Record<string, FileVector>> = fixture("rfc8785.json");

/** nst/JSONTestSuite, by file name. */
export const PARSER_CASES: Readonly<Record<string, string>> = fixture("json-test-suite.json");

/** RFC 8785, appendix B: IEEE 754 bits and the text, null where there is none. */
export const NUMBER_VECTORS: ReadonlyMap<string, string | null> = new Map([
  ["0000000000000000", "0"],
  ["8000000000000000", "0"],
  ["0000000000000001", "5e-324"],
  ["8000000000000001", "-5e-324"],
  ["7fefffffffffffff", "1.7976931348623157e+308"],
  ["ffefffffffffffff", "-1.7976931348623157e+308"],
  ["4340000000000000", "9007199254740992"],
  ["c340000000000000", "-9007199254740992"],
  ["4430000000000000", "295147905179352830000"],
  ["7fffffffffffffff", null],
  ["7ff0000000000000", null],
  ["44b52d02c7e14af5", "9.999999999999997e+22"],
  ["44b52d02c7e14af6", "1e+23"],
  ["44b52d02c7e14af7", "1.0000000000000001e+23"],
  ["444b1ae4d6e2ef4e", "999999999999999700000"],
  ["444b1ae4d6e2ef4f", "999999999999999900000"],
  ["444b1ae4d6e2ef50", "1e+21"],
  ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
  ["3eb0c6f7a0b5ed8d", "0.000001"],
  ["41b3de4355555553", "333333333.3333332"],
  ["41b3de4355555554", "333333333.33333325"],
  ["41b3de4355555555", "333333333.3333333"],
  ["41b3de4355555556", "333333333.3333334"],
  ["41b3de4355555557", "333333333.33333343"],
  ["becbf647612f3696", "-0.0000033333333333333333"],
  ["43143ff3c1cb0959", "1424953923781206.2"],
]);

/** RFC 8785, section 3.2.2.2: text without a Unicode form ends in an error. */
const LONE_SURROGATES = ["\ud800", "\udead", "x\udc00y", "\udc00\ud800"];

/** The vectors that `encode` gets wrong, by name; none for an encoder of RFC 8785. */
export function failedVectors(encode: (value: unknown) => string): readonly string[] {
  const failed: string[] = [];
  for (const [name, { input_base64, output_hex }] of Object.entries(FILE_VECTORS)) {
    const value: unknown = JSON.parse(Buffer.from(input_base64, "base64").toString("utf8"));
    if (textOf(encode, value) !== Buffer.from(output_hex, "hex").toString("utf8")) failed.push(`file ${name}`);
  }
  for (const [bits, text] of NUMBER_VECTORS) {
    if (textOf(encode, doubleOf(bits)) !== text) failed.push(`number ${bits}`);
  }
  for (const [i, text] of LONE_SURROGATES.entries()) {
    if (textOf(encode, text) !== null) failed.push(`lone surrogate ${i} as value`);
    if (textOf(encode, { [text]: 1 }) !== null) failed.push(`lone surrogate ${i} as key`);
  }
  return failed;
}

function textOf(encode: (value: unknown) => string, value: unknown): string | null {
  try {
    return encode(value);
  } catch {
    return null;
  }
}

function fixture<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../fixtures/vectors/${name}`, import.meta.url), "utf8")) as T;
}

/** IEEE 754 bits of the doubles that the published number sequence opens with. */
export const NUMBER_EDGES: readonly string[] = fixture("es6-number-edges.json");
