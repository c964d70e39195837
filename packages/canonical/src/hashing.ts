/** What all hashers share: a value is written once, piece by piece, into whatever takes its hash. */
import { DEFAULT_MAX_DEPTH } from "./canonical-options.ts";
import { CanonicalWriter } from "./canonical-writer.ts";
import type { Digest, HashDomain, Hasher, SequenceDigest } from "./hasher.ts";
import { KeyShapes } from "./key-shapes.ts";
import { isWellFormed } from "./quote-string.ts";
import { type Refused, toRefused } from "./refused.ts";
import { PIECE_LENGTH, Sha256Stream } from "./sha256.ts";

/** Takes text in pieces, none of which parts a surrogate pair, and ends as a hash. */
export interface HashStream {
  add(text: string): void;
  /** The hash as it is recorded, and what opens it; once. */
  end(): Pick<Digest, "hash" | "opening">;
}

/** Where the pieces of a value of `domain` go. */
export type OpenStream = (domain: HashDomain) => HashStream;

/** The methods that make recorded hashes, over streams of one mode. */
export function hashingMethods(
  open: OpenStream,
  redact: readonly string[],
): Pick<Hasher, "value" | "text" | "sequence"> {
  const shapes = new KeyShapes(new Set(redact));
  return {
    value(value, domain = "args") {
      const hashing = new Hashing(shapes, DEFAULT_MAX_DEPTH, redact, open(domain));
      hashing.write(value);
      return hashing.digest();
    },
    text(text, domain = "args") {
      if (!isWellFormed(text)) return { hash: "refused:lone_surrogate", redacted: NONE };
      const stream = open(domain);
      stream.add(text);
      return { ...stream.end(), redacted: NONE };
    },
    sequence: (domain = "args") => sequenceOf(new Hashing(shapes, DEFAULT_MAX_DEPTH - 1, redact, open(domain))),
  };
}

const wholeShapes = new KeyShapes();
const NONE: readonly string[] = Object.freeze([]);

/** `sha256:<hex>` over the whole of `value`, nothing redacted; null when it has no canonical form. Never throws. */
export function plainDigest(value: unknown): string | null {
  const hashing = new Hashing(wholeShapes, DEFAULT_MAX_DEPTH, NONE, plainStream());
  hashing.write(value);
  return hashing.refused === undefined ? hashing.digest().hash : null;
}

/** A class, not closures: every receipt makes a few of them. */
class PlainStream implements HashStream {
  private readonly stream = new Sha256Stream();

  add(text: string): void {
    this.stream.add(text);
  }

  end(): { readonly hash: string } {
    return { hash: `sha256:${this.stream.end()}` };
  }
}

export function plainStream(): HashStream {
  return new PlainStream();
}

/** One hash in the making; the first refusal decides it. */
class Hashing {
  refused: Refused | undefined;
  private readonly stream: HashStream;
  private readonly redact: readonly string[];
  /** The redacted keys that were met; undefined where none can be. */
  private readonly removed: Set<string> | undefined;
  private readonly shapes: KeyShapes;
  private readonly maxDepth: number;

  constructor(shapes: KeyShapes, maxDepth: number, redact: readonly string[], stream: HashStream) {
    this.shapes = shapes;
    this.maxDepth = maxDepth;
    this.redact = redact;
    this.removed = redact.length === 0 ? undefined : new Set();
    this.stream = stream;
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

  digest(): Digest {
    const { removed } = this;
    const redacted = removed === undefined ? NONE : this.redact.filter((key) => removed.has(key));
    if (this.refused !== undefined) return { hash: `refused:${this.refused.reason}`, redacted };
    try {
      const { hash, opening } = this.stream.end();
      return opening === undefined ? { hash, redacted } : { hash, redacted, opening };
    } catch (thrown) {
      return { hash: `refused:${toRefused(thrown, "too_large").reason}`, redacted };
    }
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

/** @throws TypeError if `redact` is not a list of strings. */
export function namesOf(redact: readonly string[] = []): readonly string[] {
  if (!Array.isArray(redact) || !redact.every((key) => typeof key === "string")) {
    throw new TypeError("options.redact: expected a list of strings, received something else");
  }
  return Object.freeze([...new Set(redact)]);
}
