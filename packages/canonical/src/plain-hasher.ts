/** The default hasher: plain SHA-256 over canonical text. */
import { DEFAULT_MAX_DEPTH } from "./canonical-options.ts";
import { CanonicalWriter } from "./canonical-writer.ts";
import type { Digest, Hasher, SequenceDigest } from "./hasher.ts";
import { KeyShapes } from "./key-shapes.ts";
import { isWellFormed } from "./quote-string.ts";
import { type Refused, toRefused } from "./refused.ts";
import { PIECE_LENGTH, Sha256Stream, sha256Text } from "./sha256.ts";

const wholeShapes = new KeyShapes();
const NONE: readonly string[] = Object.freeze([]);

export interface PlainHasherOptions {
  /** Key names, compared exactly, that are removed at any depth (a Map's string keys too) before hashing. */
  readonly redact?: readonly string[];
}

/**
 * Hashes arguments and results so that anybody with the same JSON gets the same `sha256:<hex>`.
 *
 * A value without canonical form gives `refused:<reason>`; nothing is thrown into the call that is being recorded. What is redacted is not even read. `sequence().end()` equals `value()` of the array of what was pushed; what is pushed after it is not heard.
 *
 * @returns A hasher; `redacted` of its digests lists the redact keys that were there (of a refused value: those met before the refusal).
 * @throws TypeError when made, if `redact` is not a list of strings.
 */
export function plainHasher(options?: PlainHasherOptions): Hasher {
  const redact = namesOf(options?.redact ?? []);
  const shapes = new KeyShapes(new Set(redact));
  return {
    mode: "sha256",
    redact,
    value(value) {
      const hashing = new Hashing(shapes, DEFAULT_MAX_DEPTH, redact);
      hashing.write(value);
      return hashing.digest();
    },
    text(text) {
      return { hash: isWellFormed(text) ? `sha256:${sha256Text(text)}` : "refused:lone_surrogate", redacted: NONE };
    },
    sequence: () => sequenceOf(new Hashing(shapes, DEFAULT_MAX_DEPTH - 1, redact)),
    plain: plainDigest,
  };
}

/** `sha256:<hex>` over the whole of `value`, nothing redacted; null when it has no canonical form. Never throws. */
export function plainDigest(value: unknown): string | null {
  const hashing = new Hashing(wholeShapes, DEFAULT_MAX_DEPTH, NONE);
  hashing.write(value);
  return hashing.refused === undefined ? hashing.end() : null;
}

/** One hash in the making; the first refusal decides it. */
class Hashing {
  refused: Refused | undefined;
  private readonly stream = new Sha256Stream();
  private readonly shapes: KeyShapes;
  private readonly maxDepth: number;
  private readonly redact: readonly string[];
  /** The redacted keys that were met; undefined where none can be. */
  private readonly removed: Set<string> | undefined;

  constructor(shapes: KeyShapes, maxDepth: number, redact: readonly string[]) {
    this.shapes = shapes;
    this.maxDepth = maxDepth;
    this.redact = redact;
    this.removed = redact.length === 0 ? undefined : new Set();
  }

  /** Adds text that is canonical already. */
  add(text: string): void {
    this.stream.add(text);
  }

  write(value: unknown): void {
    if (this.refused !== undefined) return;
    const writer = new CanonicalWriter(this.shapes, this.maxDepth, this.removed, this.stream, PIECE_LENGTH);
    try {
      writer.write(value);
      this.stream.add(writer.text);
    } catch (thrown) {
      // Beside refusals, only what no string can hold.
      this.refused = toRefused(thrown, "too_large");
    }
  }

  end(): string {
    return `sha256:${this.stream.end()}`;
  }

  digest(): Digest {
    const { refused, removed } = this;
    return {
      hash: refused === undefined ? this.end() : `refused:${refused.reason}`,
      redacted: removed === undefined ? NONE : this.redact.filter((key) => removed.has(key)),
    };
  }
}

function sequenceOf(hashing: Hashing): SequenceDigest {
  let before = "[";
  let ended: Digest | undefined;
  return {
    push(item) {
      if (ended !== undefined) return;
      hashing.add(before);
      before = ",";
      hashing.write(item);
    },
    end() {
      if (ended === undefined) {
        hashing.add(before === "[" ? "[]" : "]");
        ended = hashing.digest();
      }
      return ended;
    },
  };
}

function namesOf(redact: readonly string[]): readonly string[] {
  if (!Array.isArray(redact) || !redact.every((key) => typeof key === "string")) {
    throw new TypeError("options.redact: expected a list of strings, received something else");
  }
  return Object.freeze([...new Set(redact)]);
}
