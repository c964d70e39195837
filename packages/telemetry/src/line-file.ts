/** An append-only file of lines: made exclusively, written at once, never torn without a word. */

import type { FileSystem } from "./built-ins.ts";

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
    const bytes = Buffer.from(`${this.#torn ? "\n" : ""}${line}\n`, "utf8");
    let written = 0;
    try {
      while (written < bytes.length) written += this.#fs.writeSync(this.#descriptor, bytes, written);
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
}
