/** The sink `jsonl`: finished spans as lines of OTLP/JSON in a file of this process. */

import { ToolspanError, uuidv7 } from "@toolspan/core";
import { type FileSystem, fileSystem } from "../built-ins.ts";
import { spanToJson, TraceRequest } from "../otlp/otlp-span.ts";
import { isKept, type ReadableSpan, type SpanSink } from "../spans/readable-span.ts";
import { type Environment, processEnvironment } from "../start/environment.ts";
import { stateRoot } from "../state-root.ts";
import { LineFile } from "./line-file.ts";
import { causeOf, reportLoss } from "./loss.ts";

/** A line is written when it reaches this many characters; readers of log files give up at 1 MiB. */
const LINE_LENGTH = 128 * 1024;
const DELAY_MS = 250;
const SOURCE = "telemetry.jsonl";

export interface JsonlSinkOptions {
  /** Folder of the files. Default `<state root>/spans`. */
  readonly dir?: string;
  /** File name, `*.jsonl`, must not exist yet. Default: a name that sorts by time. */
  readonly fileName?: string;
  /** How long a span may wait for others before its line is written, milliseconds. Default 250. */
  readonly delayMs?: number;
  /** Whether failed spans that are recorded are written though their trace is not sampled. Default false. */
  readonly keepErrors?: boolean;
  /** Read for `TOOLSPAN_STATE_DIR`. Default `process.env`. */
  readonly env?: Environment;
}

export interface JsonlSink extends SpanSink {
  /** The file; null as long as no span has been written. */
  readonly path: string | null;
  /** Spans written so far. */
  readonly written: number;
  /** Writes what is held, at once; safe while the process exits. */
  flushSync(): void;
}

/**
 * Writes sampled spans as OTLP/JSON lines, as OpenTelemetry's file exporter does: one request a line.
 *
 * The file is made when the first span ends, 0600 in a folder 0700, and belongs to this process alone. At most 128 KiB are
 * held, at most `delayMs` long; a full buffer is written on the spot, so a burst cannot grow memory. What is held is also
 * written when the process exits, though not when it is killed.
 *
 * @throws TOOLSPAN_INVALID_OPTION when made, where the runtime has no file system.
 * @source OpenTelemetry specification, "OpenTelemetry Protocol File Exporter"
 */
export function jsonlSink(options: JsonlSinkOptions = {}): JsonlSink {
  const system = fileSystem();
  if (system === undefined) {
    throw new ToolspanError("TOOLSPAN_INVALID_OPTION", {
      subject: "jsonlSink",
      option: "runtime",
      expected: "one with a file system",
      received: "one without node:fs",
    });
  }
  return new FileSink(system, options);
}

class FileSink implements JsonlSink {
  readonly #system: FileSystem;
  readonly #options: JsonlSinkOptions;
  readonly #request = new TraceRequest();
  #file: LineFile | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;
  #written = 0;

  constructor(system: FileSystem, options: JsonlSinkOptions) {
    this.#system = system;
    this.#options = options;
  }

  get path(): string | null {
    return this.#file?.path ?? null;
  }

  get written(): number {
    return this.#written;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (!isKept(span, this.#options.keepErrors ?? false)) return;
    if (this.#closed) this.#lose(1, "closed", "a span ended after the sink was shut down");
    else {
      try {
        this.#hold(span, spanToJson(span));
      } catch (thrown) {
        this.#lose(1, "unreadable", `a span could not be written out (${causeOf(thrown)})`);
      }
    }
  }

  #hold(span: ReadableSpan, json: string): void {
    if (!live.has(this)) writeAtExit(this.#system, this);
    const request = this.#request;
    if (request.count > 0 && (!request.fits(span) || request.length + json.length > LINE_LENGTH)) this.flushSync();
    request.add(span, json);
    if (request.length >= LINE_LENGTH) this.flushSync();
    else this.#schedule();
  }

  flushSync(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { count } = this.#request;
    if (count === 0) return;
    const line = this.#request.take();
    try {
      this.#file ??= this.#open();
      this.#file.write(line);
      this.#written += count;
    } catch (thrown) {
      this.#lose(count, "write_failed", `spans could not be written to a file (${causeOf(thrown)})`);
    }
  }

  async forceFlush(): Promise<void> {
    this.flushSync();
  }

  async shutdown(): Promise<void> {
    this.flushSync();
    this.#closed = true;
    live.delete(this);
    try {
      this.#file?.close();
    } catch (thrown) {
      this.#lose(0, "close_failed", `the file of spans could not be closed (${causeOf(thrown)})`);
    }
  }

  #open(): LineFile {
    const { dir, fileName, env } = this.#options;
    const folder = dir ?? this.#system.path.join(stateRoot(this.#system, env ?? processEnvironment()), "spans");
    return new LineFile(this.#system, folder, fileName ?? `${uuidv7()}.jsonl`);
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.flushSync(), this.#options.delayMs ?? DELAY_MS);
    (this.#timer as { unref?(): void }).unref?.();
  }

  #lose(count: number, reason: string, message: string): void {
    reportLoss({ signal: "spans", reason, source: SOURCE, message, count });
  }
}

/** Sinks that may hold spans when the process exits. */
const live = new Set<JsonlSink>();
let hooked = false;

function writeAtExit({ process }: FileSystem, sink: JsonlSink): void {
  live.add(sink);
  if (hooked) return;
  hooked = true;
  process.on("exit", () => {
    for (const each of live) each.flushSync();
  });
}
