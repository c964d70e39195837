/** Where and how Langfuse is reached, from options and `LANGFUSE_*`. */

import { type Environment, processEnvironment, readText } from "../start/environment.ts";

export interface LangfuseOptions {
  /** Address of the Langfuse instance. Default `LANGFUSE_BASE_URL`; there is no other default: nothing goes to a cloud unasked. */
  readonly baseUrl?: string;
  /** Default `LANGFUSE_PUBLIC_KEY`. */
  readonly publicKey?: string;
  /** Default `LANGFUSE_SECRET_KEY`. */
  readonly secretKey?: string;
  /** Stands on every trace as tag `project:<project>` and in its metadata. */
  readonly project?: string;
  /** Langfuse's environment. Default `LANGFUSE_TRACING_ENVIRONMENT`. */
  readonly environment?: string;
  /** Default `LANGFUSE_RELEASE`. */
  readonly release?: string;
  /** Tags of every trace. */
  readonly tags?: readonly string[];
  /** Longest time of one HTTP request, milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
  /** Longest wait of a flush, milliseconds. Default 5,000. */
  readonly flushTimeoutMs?: number;
  /** Environment variables to go by. Default `process.env`; `{}` ignores them. */
  readonly env?: Environment;
}

export interface LangfuseSettings {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly publicKey: string;
  readonly secretKey: string;
  readonly project: string | undefined;
  readonly environment: string | undefined;
  readonly release: string | undefined;
  readonly tags: readonly string[];
  readonly timeoutMs: number;
  readonly flushTimeoutMs: number;
}

const DEFAULT_TIMEOUT_MS = 5000;

/** Characters that a header refuses, request by request. */
const NO_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

/** The settings, or in words what is missing or wrong. */
export function langfuseSettings(options: LangfuseOptions): LangfuseSettings | string {
  const env = options.env ?? processEnvironment();
  const baseUrl = options.baseUrl ?? readText(env, "LANGFUSE_BASE_URL");
  const publicKey = options.publicKey ?? readText(env, "LANGFUSE_PUBLIC_KEY");
  const secretKey = options.secretKey ?? readText(env, "LANGFUSE_SECRET_KEY");
  if (baseUrl === undefined || publicKey === undefined || secretKey === undefined) {
    const missing = [
      ...(baseUrl === undefined ? ["baseUrl (LANGFUSE_BASE_URL)"] : []),
      ...(publicKey === undefined ? ["publicKey (LANGFUSE_PUBLIC_KEY)"] : []),
      ...(secretKey === undefined ? ["secretKey (LANGFUSE_SECRET_KEY)"] : []),
    ];
    return `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing`;
  }
  if (!/^https?:/.test(baseUrl) || !URL.canParse(baseUrl)) return "baseUrl is no http or https address";
  if (NO_HEADER.test(publicKey) || NO_HEADER.test(secretKey)) {
    const which = NO_HEADER.test(publicKey) ? "publicKey (LANGFUSE_PUBLIC_KEY)" : "secretKey (LANGFUSE_SECRET_KEY)";
    return `${which} holds a character that no key has, such as a line break`;
  }
  const { project, tags = [] } = options;
  return {
    baseUrl: baseUrl.replace(/\/+$/, ""),
    publicKey,
    secretKey,
    project,
    environment: options.environment ?? readText(env, "LANGFUSE_TRACING_ENVIRONMENT"),
    release: options.release ?? readText(env, "LANGFUSE_RELEASE"),
    tags: project === undefined ? tags : [`project:${project}`, ...tags],
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    flushTimeoutMs: options.flushTimeoutMs ?? DEFAULT_TIMEOUT_MS,
  };
}
