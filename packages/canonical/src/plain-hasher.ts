/** The default hasher: plain SHA-256 over canonical text. */
import { isGuessable, MAX_GUESSABLE_LENGTH } from "./guessable.ts";
import type { Hasher } from "./hasher.ts";
import { type HashStream, hashingMethods, namesOf, plainDigest, plainStream } from "./hashing.ts";

export interface PlainHasherOptions {
  /** Key names, compared exactly, that are removed at any depth (a Map's string keys too) before hashing. */
  readonly redact?: readonly string[];
  /** Called once, when arguments are hashed that whoever knows the tool can find by trying: fewer than 2^32 candidates. */
  readonly onGuessable?: () => void;
}

/**
 * Hashes arguments and results so that anybody with the same JSON gets the same `sha256:<hex>`.
 *
 * Short values can be found by trying: use `keyedHasher` or `committedHasher` for what must not be.
 * A value without canonical form gives `refused:<reason>`; nothing is thrown into the call that is being recorded. What is redacted is not even read. `sequence().end()` equals `value()` of the array of what was pushed; what is pushed after it is not heard.
 *
 * @returns A hasher; `redacted` of its digests lists the redact keys that were there (of a refused value: those met before the refusal).
 * @throws TypeError when made, if `redact` is not a list of strings.
 */
export function plainHasher(options?: PlainHasherOptions): Hasher {
  const redact = namesOf(options?.redact);
  let onGuessable = options?.onGuessable;
  const tell = (): void => {
    const listener = onGuessable;
    onGuessable = undefined;
    try {
      listener?.();
    } catch {
      // Whoever listens must not change a hash, nor the call that is being recorded.
    }
  };
  const methods = hashingMethods(
    (domain) => (onGuessable === undefined || domain !== "args" ? plainStream() : new ListeningStream(tell)),
    redact,
  );
  return { mode: "sha256", redact, ...methods, plain: plainDigest };
}

/** A plain stream that also looks at what it hashes, as long as that is short. */
class ListeningStream implements HashStream {
  private readonly stream = plainStream();
  private readonly tell: () => void;
  private seen = "";
  private length = 0;

  constructor(tell: () => void) {
    this.tell = tell;
  }

  add(text: string): void {
    this.length += text.length;
    if (this.length <= MAX_GUESSABLE_LENGTH) this.seen += text;
    this.stream.add(text);
  }

  end(): { readonly hash: string } {
    if (this.length <= MAX_GUESSABLE_LENGTH && isGuessable(this.seen)) this.tell();
    return this.stream.end();
  }
}
