/** Cuts a stream of bytes into lines, never holding more than one line and one chunk. */

/** One line without its newline; `bytes` is null when it was too long to keep. */
export interface Line {
  /** 1-based. */
  readonly number: number;
  readonly bytes: Uint8Array | null;
}

const NEWLINE = 0x0a;

/** Yields lines in order; the last one need not end in a newline. Text chunks count as UTF-8. */
export async function* splitLines(
  source: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  maxLineBytes: number,
): AsyncGenerator<Line, void, void> {
  const encoder = new TextEncoder();
  const open = new OpenLine(maxLineBytes);
  let number = 1;
  for await (const chunk of source) {
    const bytes = typeof chunk === "string" ? encoder.encode(chunk) : chunk;
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      open.add(bytes.subarray(start, end));
      yield { number, bytes: open.take() };
      number += 1;
      start = end + 1;
    }
    open.add(bytes.subarray(start));
  }
  if (!open.empty) yield { number, bytes: open.take() };
}

/** The line that is being gathered; beyond the limit it only remembers that it was too long. */
class OpenLine {
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get empty(): boolean {
    return this.#length === 0;
  }

  add(piece: Uint8Array): void {
    this.#length += piece.length;
    if (this.#length > this.#maxBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  take(): Uint8Array | null {
    const line = this.#length > this.#maxBytes ? null : joined(this.#pieces, this.#length);
    this.#pieces = [];
    this.#length = 0;
    return line;
  }
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined) return first;
  const line = new Uint8Array(length);
  let offset = 0;
  for (const piece of pieces) {
    line.set(piece, offset);
    offset += piece.length;
  }
  return line;
}
