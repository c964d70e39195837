// Row 12: the strict RFC 8785 writer beside the two canonicalisers people use.
import { canonicalJson } from "@toolspan/canonical";
import canonicalize from "canonicalize";
import stableStringify from "fast-json-stable-stringify";
import { measure, ratio } from "./measure.mjs";
import { payloads } from "./payloads.mjs";

const repeat = (write, value) => (n) => {
  for (let i = 0; i < n; i += 1) write(value);
};

async function rows() {
  const found = [];
  for (const [variant, value] of Object.entries(payloads)) {
    const samples = await measure([
      { name: "canonicalJson", run: repeat(canonicalJson, value) },
      { name: "fast-json-stable-stringify", run: repeat(stableStringify, value) },
      { name: "canonicalize", run: repeat(canonicalize, value) },
    ]);
    for (const [baseline, target] of [
      ["fast-json-stable-stringify", 0.5],
      ["canonicalize", 0.45],
    ]) {
      const measured = ratio(samples, "canonicalJson", baseline);
      found.push({ row: 12, variant, subject: "canonicalJson", baseline, unit: "ratio", target, measured });
    }
  }
  return found;
}

export const cases = { all: rows };
