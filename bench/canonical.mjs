// Rows 12 and 13: the strict RFC 8785 writer beside the two canonicalisers people use, by time and by depth.
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

const MAX_LEVELS = 200_000;

const nested = (levels) => {
  let value = 0;
  for (let i = 0; i < levels; i += 1) value = [value];
  return value;
};

/** What is thrown over so many levels; null where nothing is. */
function thrownOver(levels, write) {
  try {
    write(nested(levels));
    return null;
  } catch (error) {
    return error.name;
  }
}

/** The deepest nesting that is written, and the error beyond it. */
function depthOf(write) {
  let [written, beyond] = [0, MAX_LEVELS];
  if (thrownOver(beyond, write) === null) return { levels: beyond, error: null };
  while (beyond - written > 1) {
    const middle = (written + beyond) >> 1;
    if (thrownOver(middle, write) === null) written = middle;
    else beyond = middle;
  }
  return { levels: written, error: thrownOver(MAX_LEVELS, write) };
}

function depths() {
  const writers = [
    ["canonicalJson", canonicalJson],
    ["canonicalJson, maxDepth 100,000", (value) => canonicalJson(value, { maxDepth: 100_000 })],
    ["fast-json-stable-stringify", stableStringify],
    ["canonicalize", canonicalize],
  ];
  return writers.map(([subject, write]) => {
    const { levels, error } = depthOf(write);
    const variant = error === null ? "no end found" : `beyond: ${error}`;
    return { row: 13, variant, subject, baseline: "", unit: "levels", target: null, measured: levels };
  });
}

export const cases = { all: rows, depths };
