// Laws of the tree over a log's lines: RFC 6962 roots as lines come, and the published cases of proofs.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkpointText, isTornCheckpoint, parseCheckpoint } from "../../packages/receipts/src/log/checkpoint.ts";
import { EMPTY_ROOT, isConsistent, isIncluded, leafHash, MerkleTree } from "../../packages/receipts/src/log/merkle.ts";

interface InclusionCase {
  readonly leafIdx: number;
  readonly treeSize: number;
  readonly root: string;
  readonly leafHash: string;
  readonly proof: readonly string[] | null;
  readonly wantErr: boolean;
  readonly name: string;
}

interface ConsistencyCase {
  readonly size1: number;
  readonly size2: number;
  readonly root1: string;
  readonly root2: string;
  readonly proof: readonly string[] | null;
  readonly wantErr: boolean;
  readonly name: string;
}

const vectors = JSON.parse(readFileSync(new URL("../fixtures/vectors/merkle.json", import.meta.url), "utf8")) as {
  readonly inclusion: readonly InclusionCase[];
  readonly consistency: readonly ConsistencyCase[];
};
const bytes = (base64: string): Buffer => Buffer.from(base64, "base64");
const hex = (base64: string): string => bytes(base64).toString("hex");
const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

/** The definition, word for word (RFC 6962, section 2.1). */
function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0] as Buffer;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

test("the root of lines that come one by one is the root of the definition", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 8 }), { maxLength: 70 }), (lines) => {
      const tree = new MerkleTree();
      const leaves = lines.map((line) => sha256(Buffer.of(0), line));
      for (const [i, leaf] of leaves.entries()) {
        expect(leafHash(lines[i] as Uint8Array)).toBe(leaf.toString("hex"));
        tree.add(leaf.toString("hex"));
        expect(tree.root()).toBe(rootOf(leaves.slice(0, i + 1)).toString("hex"));
      }
      expect(tree.size).toBe(lines.length);
    }),
    { numRuns: 60 },
  );
  expect(new MerkleTree().root()).toBe(EMPTY_ROOT);
});

test("a copy of a tree goes on by itself", () => {
  const tree = new MerkleTree();
  for (const line of ["a", "b", "c"]) tree.add(leafHash(Buffer.from(line)));
  const copy = tree.copy();
  const before = tree.root();
  copy.add(leafHash(Buffer.from("d")));
  expect(tree.root()).toBe(before);
  expect(copy.root()).not.toBe(before);
});

describe("the published cases", () => {
  test("of inclusion proofs", () => {
    expect(vectors.inclusion).toHaveLength(98);
    for (const { leafIdx, treeSize, root, leafHash: leaf, proof, wantErr, name } of vectors.inclusion) {
      const included = isIncluded(leafIdx, treeSize, hex(leaf), (proof ?? []).map(hex), hex(root));
      expect(included, name).toBe(!wantErr);
    }
  });

  test("of consistency proofs", () => {
    expect(vectors.consistency).toHaveLength(98);
    for (const { size1, size2, root1, root2, proof, wantErr, name } of vectors.consistency) {
      const consistent = isConsistent(size1, size2, hex(root1), hex(root2), (proof ?? []).map(hex));
      expect(consistent, name).toBe(!wantErr);
    }
  });
});

describe("the text of a head", () => {
  const head = { log: "01a22ce2-e9f1-7fc0-b536-1240776b45d8", size: 257, root: "ab".repeat(32) };
  const text = checkpointText(head);

  test("is a C2SP checkpoint with no signature", () => {
    expect(text).toBe(
      `toolspan/${head.log}\n257\n${bytes("q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=").toString("base64")}\n\n`,
    );
  });

  test("reads back as what was written", () => {
    const [origin = "", size = "", root = ""] = text.split("\n");
    expect(parseCheckpoint(origin, size, root)).toEqual({ ...head, keyName: null });
    const [named = ""] = checkpointText(head, "host/toolspan").split("\n");
    expect(parseCheckpoint(named, size, root)).toEqual({ ...head, keyName: "host/toolspan" });
  });

  test("is refused with leading zeros, signs, other alphabets, a short root or spare bits", () => {
    const [origin = "", size = "", root = ""] = text.split("\n");
    for (const bad of [`0${size}`, `+${size}`, `${size} `, "", "1e3", "-1"])
      expect(parseCheckpoint(origin, bad, root)).toBeNull();
    for (const bad of [root.replace("q", "-"), root.slice(0, 40), `${root} `, root.replace("s=", "t=")]) {
      expect(parseCheckpoint(origin, size, bad)).toBeNull();
    }
    for (const bad of ["", "log", "/log", "elsewhere/"]) expect(parseCheckpoint(bad, size, root)).toBeNull();
  });

  test("is torn when it is cut anywhere, and damaged when any bit of it is changed", () => {
    for (let cut = 1; cut < text.length; cut++)
      expect(isTornCheckpoint(text.slice(0, cut), head.log), String(cut)).toBe(true);
    expect(isTornCheckpoint(text, head.log)).toBe(false);
    for (let at = text.length - 2; at < text.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const changed = Buffer.from(text, "latin1");
        changed[at] = (changed[at] as number) ^ (1 << bit);
        expect(isTornCheckpoint(changed.toString("latin1"), head.log), `${at} ${bit}`).toBe(false);
      }
    }
  });
});
