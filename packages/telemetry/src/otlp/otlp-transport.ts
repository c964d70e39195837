/** Sends OTLP requests over HTTP: repeats what may be repeated, ends at its deadline, holds no process open. */

import type { Agent } from "node:http";
import type { RequestOptions } from "node:https";
import { context } from "@opentelemetry/api";
import type { Network } from "../built-ins.ts";
import { causeOf } from "../sinks/loss.ts";
import { suppressed } from "../spans/async-context.ts";
import { type Answer, readAnswer, waitAsked } from "./otlp-answer.ts";

export type SendResult =
  | { readonly sent: true; readonly response: Uint8Array }
  /** `reason` is a low-cardinality word; `detail` names a status or an error code. */
  | {
      readonly sent: false;
      readonly reason: "rejected" | "unreachable" | "timeout" | "aborted";
      readonly detail: string;
    };

type Failed = Extract<SendResult, { readonly sent: false }>;

/** What a transport needs to know of its settings. */
export interface TransportSettings {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
  /** Longest time of one attempt, milliseconds. */
  readonly timeoutMs: number;
  /** Longest time of a request with its repetitions, milliseconds. */
  readonly retryMs: number;
  readonly gzip: boolean;
  readonly tls: object;
}

const ABORTED: Failed = { sent: false, reason: "aborted", detail: "shut down" };
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 5000;
/** Longest pause while somebody waits for the end. */
const HURRIED_WAIT_MS = 250;

export class OtlpTransport {
  readonly #settings: TransportSettings;
  readonly #network: Network;
  readonly #agent: Agent;
  /** Ends everything at once. */
  readonly #stop = new AbortController();
  /** Pauses under way. */
  readonly #pauses = new Set<() => void>();
  /** How the last attempt of the request under way has failed. */
  #failed: Failed | undefined;
  /** Who waits for an end: as long as somebody does, pauses are short. */
  #hurries = 0;

  constructor(settings: TransportSettings, network: Network) {
    this.#settings = settings;
    this.#network = network;
    this.#agent =
      settings.url.protocol === "https:"
        ? new network.https.Agent({ keepAlive: true, ...settings.tls })
        : new network.http.Agent({ keepAlive: true });
  }

  /** Why the request under way would be lost now: how its last attempt has failed, else that there was no time. */
  get failure(): Failed {
    return this.#failed ?? ABORTED;
  }

  /** Resolves with what became of it, at the latest after `retryMs` and one attempt. Never rejects. */
  async send(body: Uint8Array, gzipped = false): Promise<SendResult> {
    if (this.#stop.signal.aborted) return ABORTED;
    try {
      return await this.#repeat(this.#encoded(body, gzipped));
    } catch (thrown) {
      return { sent: false, reason: "rejected", detail: causeOf(thrown) };
    }
  }

  /** Somebody waits: pauses end now and stay short until the returned function is called. */
  hurry(): () => void {
    this.#hurries += 1;
    for (const end of this.#pauses) end();
    return () => {
      this.#hurries -= 1;
    };
  }

  /** Ends what is under way and gives the sockets back. */
  abort(): void {
    this.#stop.abort();
    this.#agent.destroy();
  }

  #encoded(body: Uint8Array, gzipped: boolean): Uint8Array {
    const { zlib } = this.#network;
    if (gzipped === this.#settings.gzip) return body;
    return gzipped ? zlib.gunzipSync(body) : zlib.gzipSync(body);
  }

  async #repeat(body: Uint8Array): Promise<SendResult> {
    const until = performance.now() + this.#settings.retryMs;
    this.#failed = undefined;
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      let asked = 0;
      const attempt = await this.#try(body);
      if ("status" in attempt) {
        const { status, body: response, retryAfter } = attempt;
        if (status >= 200 && status < 300) {
          this.#failed = undefined;
          return { sent: true, response };
        }
        this.#failed = { sent: false, reason: "rejected", detail: `status ${status}` };
        if (!RETRYABLE.has(status)) return this.#failed;
        asked = waitAsked(retryAfter) ?? 0;
      } else if (this.#stop.signal.aborted) {
        // Out of time: what an attempt before had met says more.
        return this.#failed ?? ABORTED;
      } else this.#failed = attempt;
      const left = until - performance.now();
      if (left <= 0) return this.#failed;
      const own = wait * (0.5 + Math.random());
      // A collector that asks for longer than there is gets one last attempt at the end; one that asks for less than a
      // pause of ours gets no more requests for it.
      const isAsked = asked > own;
      if (!(await this.#pause(Math.min(Math.max(asked, own), left), isAsked))) return this.#failed;
    }
  }

  async #try(body: Uint8Array): Promise<Answer | Failed> {
    const limit = AbortSignal.timeout(this.#settings.timeoutMs);
    try {
      return await this.#attempt(body, AbortSignal.any([limit, this.#stop.signal]));
    } catch (thrown) {
      return limit.aborted
        ? { sent: false, reason: "timeout", detail: "no answer" }
        : { sent: false, reason: "unreachable", detail: causeOf(thrown) };
    }
  }

  #attempt(body: Uint8Array, signal: AbortSignal): Promise<Answer> {
    const { url, headers, gzip, contentType } = this.#settings;
    const { http, https } = this.#network;
    const request = url.protocol === "https:" ? https.request : http.request;
    return new Promise<Answer>((resolve, reject) => {
      const options: RequestOptions = {
        method: "POST",
        agent: this.#agent,
        signal,
        headers: {
          "User-Agent": "toolspan-telemetry",
          ...headers,
          "Content-Type": contentType,
          "Content-Length": body.length,
          ...(gzip ? { "Content-Encoding": "gzip" } : {}),
        },
      };
      const sent = context.with(suppressed(), () =>
        request(url, options, (answer) => readAnswer(answer, resolve, reject)),
      );
      // An exporter must not hold the process open; whoever flushes waits with a timer of its own.
      sent.on("socket", (socket) => socket.unref());
      sent.on("error", reject);
      // A switch to another protocol was never asked for; left alone, the answer would never come.
      sent.on("upgrade", (answer, socket) => {
        socket.destroy();
        resolve({ status: answer.statusCode ?? 0, body: new Uint8Array(), retryAfter: undefined });
      });
      sent.end(body);
    });
  }

  /** True after `ms`, or sooner where somebody waits and the collector has not named the time itself; false when all ends. */
  #pause(ms: number, asked: boolean): Promise<boolean> {
    const { signal } = this.#stop;
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        this.#pauses.delete(end);
        resolve(!signal.aborted);
      };
      const timer = setTimeout(end, this.#hurries > 0 && !asked ? Math.min(ms, HURRIED_WAIT_MS) : ms);
      timer.unref();
      signal.addEventListener("abort", end);
      if (!asked) this.#pauses.add(end);
    });
  }
}
