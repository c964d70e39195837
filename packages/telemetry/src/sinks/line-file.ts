/** An append-only file of lines: made exclusively, written at once, never torn without a word. */

import type { FileSystem } from "../built-ins.ts";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

export class LineFile {
  readonly path: string;
  readonly #fs: FileSystem["fs"];
  #descriptor: number | undefined;
  #torn = false;

  constructor({ fs, path }: FileSystem, folder: string, name: string) {
    this.#fs = fs;
    this.path = path.join(folder, name);
    fs.mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
    // Exclusive: no other writer's file is taken over, no link is followed.
    this.#descriptor = fs.openSync(this.path, "ax", FILE_MODE);
  }

  /**
   * Writes one line, synchronously and whole.
   *
   * @throws The file system's error; what stands half-written then is closed off by a newline before the next line.
   */
  write(line: string): void {
    if (this.#descriptor === undefined) throw new Error("the file is closed");
    const text = `${this.#torn ? "\n" : ""}${line}\n`;
    // As a string: a buffer for each line would pile up outside the heap until the next collection.
    let written = 0;
    try {
      written = this.#fs.writeSync(this.#descriptor, text, null, "utf8");
      if (written < Buffer.byteLength(text))
        this.#writeRest(this.#descriptor, Buffer.from(text, "utf8").subarray(written));
      this.#torn = false;
    } catch (thrown) {
      this.#torn ||= written > 0;
      throw thrown;
    }
  }

  close(): void {
    if (this.#descriptor === undefined) return;
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    this.#fs.closeSync(descriptor);
  }

  /** A write may take less than it was given. */
  #writeRest(descriptor: number, bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at += this.#fs.writeSync(descriptor, bytes, at);
  }
}
