/** Sends OTLP requests over HTTP: repeats what may be repeated, ends at its deadline, holds no process open. */

import * as http from "node:http";
import * as https from "node:https";
import { gzipSync } from "node:zlib";
import { context } from "@opentelemetry/api";
import { causeOf } from "../sinks/loss.ts";
import { suppressed } from "../spans/async-context.ts";
import type { OtlpSettings } from "./otlp-settings.ts";

export type SendResult =
  | { readonly sent: true; readonly response: string }
  /** `reason` is a low-cardinality word; `detail` names a status or an error code. */
  | {
      readonly sent: false;
      readonly reason: "rejected" | "unreachable" | "timeout" | "aborted";
      readonly detail: string;
    };

type Failed = Extract<SendResult, { readonly sent: false }>;

interface Attempt {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
}

const ABORTED: SendResult = { sent: false, reason: "aborted", detail: "shut down" };
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 5000;
const MAX_RESPONSE_LENGTH = 65_536;

export class OtlpTransport {
  readonly #settings: OtlpSettings;
  readonly #agent: http.Agent;
  /** One per request under way. */
  readonly #underWay = new Set<AbortController>();
  #aborted = false;

  constructor(settings: OtlpSettings) {
    this.#settings = settings;
    this.#agent =
      settings.url.protocol === "https:"
        ? new https.Agent({ keepAlive: true, ...settings.tls })
        : new http.Agent({ keepAlive: true });
  }

  /** Resolves with what became of it, at the latest after the timeout of the settings. Never rejects. */
  async send(body: string | Uint8Array): Promise<SendResult> {
    if (this.#aborted) return ABORTED;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), this.#settings.timeoutMs);
    timer.unref();
    this.#underWay.add(stop);
    try {
      const result = await this.#repeat(this.#settings.gzip ? gzipSync(body) : body, stop.signal);
      return this.#aborted && !result.sent ? ABORTED : result;
    } finally {
      clearTimeout(timer);
      this.#underWay.delete(stop);
    }
  }

  /** Ends what is under way and gives the sockets back. */
  abort(): void {
    this.#aborted = true;
    for (const stop of this.#underWay) stop.abort();
    this.#agent.destroy();
  }

  async #repeat(body: string | Uint8Array, signal: AbortSignal): Promise<SendResult> {
    let failed: Failed = { sent: false, reason: "timeout", detail: "no answer" };
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      let pause = wait * (0.5 + Math.random());
      try {
        const { status, body: response, retryAfter } = await this.#attempt(body, signal);
        if (status >= 200 && status < 300) return { sent: true, response };
        failed = { sent: false, reason: "rejected", detail: `status ${status}` };
        if (!RETRYABLE.has(status)) return failed;
        pause = waitAsked(retryAfter) ?? pause;
      } catch (thrown) {
        // Out of time: what the attempt before had met says more.
        if (signal.aborted) return failed;
        failed = { sent: false, reason: "unreachable", detail: causeOf(thrown) };
      }
      if (!(await slept(pause, signal))) return failed;
    }
  }

  #attempt(body: string | Uint8Array, signal: AbortSignal): Promise<Attempt> {
    const { url, headers, gzip, protocol } = this.#settings;
    const request = url.protocol === "https:" ? https.request : http.request;
    return new Promise<Attempt>((resolve, reject) => {
      const options: https.RequestOptions = {
        method: "POST",
        agent: this.#agent,
        signal,
        headers: {
          "User-Agent": "toolspan-telemetry",
          ...headers,
          "Content-Type": protocol === "http/protobuf" ? "application/x-protobuf" : "application/json",
          "Content-Length": Buffer.byteLength(body),
          ...(gzip ? { "Content-Encoding": "gzip" } : {}),
        },
      };
      const sent = context.with(suppressed(), () =>
        request(url, options, (answer) => readAnswer(answer, resolve, reject)),
      );
      // An exporter must not hold the process open; whoever flushes waits with a timer of its own.
      sent.on("socket", (socket) => socket.unref());
      sent.on("error", reject);
      sent.end(body);
    });
  }
}

function readAnswer(
  answer: http.IncomingMessage,
  resolve: (attempt: Attempt) => void,
  reject: (error: Error) => void,
): void {
  let body = "";
  answer.setEncoding("utf8");
  answer.on("data", (chunk: string) => {
    if (body.length < MAX_RESPONSE_LENGTH) body += chunk;
  });
  answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body, retryAfter: answer.headers["retry-after"] }));
  answer.on("error", reject);
}

/** Milliseconds that a `Retry-After` header asks for. */
function waitAsked(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** True after `ms`; false as soon as `signal` fires. */
function slept(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (whole: boolean): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve(whole);
    };
    const stop = (): void => end(false);
    const timer = setTimeout(end, ms, true);
    timer.unref();
    signal.addEventListener("abort", stop);
  });
}
