/** Checks `collector` and `receipts_endpoint`: whether somebody takes OTLP at the addresses in use, and what their clock says. */

import { systemProblem } from "../command-error.ts";
import { type Finding, type Patient, variable } from "./finding.ts";

const DEFAULT_ENDPOINT = "http://localhost:4318";

/** What `fetch` says of a port on the list of those that no browser would try. */
const BAD_PORT = "bad port";
const MAX_ANSWER_BYTES = 65_536;
export const BAD_CREDENTIALS = "user and password in the address are not percent-encoded: write a percent sign as %25";

export interface Reached {
  readonly findings: readonly Finding[];
  /** What an endpoint's clock said, milliseconds since the epoch, and when that was here; undefined where nobody answered. */
  readonly clock: { readonly there: number; readonly here: number } | undefined;
}

interface Target {
  readonly check: string;
  readonly url: string;
  /** A request of the right kind with nothing in it. */
  readonly body: string;
  /** False where nobody named it: then silence is no problem. */
  readonly configured: boolean;
}

/** Sends each endpoint an empty request. */
export async function checkCollector(patient: Patient): Promise<Reached> {
  const reached = await Promise.all(targetsOf(patient).map((target) => reach(target, patient.timeoutMs)));
  return {
    findings: reached.flatMap(({ findings }) => findings),
    clock: reached.find(({ clock }) => clock !== undefined)?.clock,
  };
}

function targetsOf(patient: Patient): readonly Target[] {
  const { endpoint } = patient;
  const own = endpoint === undefined ? variable(patient, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") : undefined;
  const base = endpoint ?? variable(patient, "OTEL_EXPORTER_OTLP_ENDPOINT");
  const receipts = variable(patient, "TOOLSPAN_RECEIPTS_OTLP_ENDPOINT");
  return [
    {
      check: "collector",
      url: own ?? joined(base ?? DEFAULT_ENDPOINT, "/v1/traces"),
      body: '{"resourceSpans":[]}',
      configured: own !== undefined || base !== undefined,
    },
    ...(receipts === undefined
      ? []
      : [
          {
            check: "receipts_endpoint",
            url: joined(receipts, "/v1/logs"),
            body: '{"resourceLogs":[]}',
            configured: true,
          },
        ]),
  ];
}

async function reach({ check, url, body, configured }: Target, timeoutMs: number): Promise<Reached> {
  const parsed = /^https?:/.test(url) && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) {
    return {
      findings: [{ check, status: "problem", message: "the endpoint is no http or https address" }],
      clock: undefined,
    };
  }
  // User and password go into a header: `fetch` refuses them in an address, and prints them.
  const credentials = credentialsOf(parsed);
  if (credentials === null)
    return { findings: [{ check, status: "problem", message: BAD_CREDENTIALS }], clock: undefined };
  const address = `${parsed.origin}${parsed.pathname}`;
  const started = Date.now();
  try {
    const answer = await fetch(`${address}${parsed.search}`, {
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        ...(credentials === undefined ? {} : { authorization: credentials }),
      },
      // Exporters follow none.
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const said = await firstBytes(answer);
    const there = Date.parse(answer.headers.get("date") ?? "");
    const clock = Number.isFinite(there) ? { there, here: (started + Date.now()) / 2 } : undefined;
    return { findings: [answered(check, address, answer, said)], clock };
  } catch (thrown) {
    return { findings: [silent(check, address, configured, thrown, timeoutMs)], clock: undefined };
  }
}

function answered(check: string, address: string, { status, headers }: Response, said: string): Finding {
  if (status >= 200 && status < 300) {
    if (isOtlpAnswer(said, headers)) return { check, status: "ok", message: `${address} takes OTLP` };
    const message = `${address} answered ${status} with something that is no answer to OTLP: something else listens here, and what is sent to it is lost`;
    return { check, status: "problem", message };
  }
  if (status >= 300 && status < 400) {
    const message = `${address} answered ${status}: it sends elsewhere, and an exporter does not follow; name the collector's own address`;
    return { check, status: "problem", message };
  }
  const why: Readonly<Record<number, string>> = {
    401: "it wants credentials (OTEL_EXPORTER_OTLP_HEADERS), which were not sent here",
    403: "it wants credentials (OTEL_EXPORTER_OTLP_HEADERS), which were not sent here",
    404: "there is no OTLP/HTTP receiver at this path",
    405: "there is no OTLP/HTTP receiver at this path",
    415: "it does not take http/json",
  };
  const known = why[status] ?? "it does not take an empty request";
  return {
    check,
    status: status === 401 || status === 403 ? "warning" : "problem",
    message: `${address} answered ${status}: ${known}`,
  };
}

function silent(check: string, address: string, configured: boolean, thrown: unknown, timeoutMs: number): Finding {
  const why =
    thrown instanceof Error && thrown.name === "TimeoutError" ? `no answer within ${timeoutMs} ms` : causeOf(thrown);
  if (why === BAD_PORT) {
    const message = `${address} was not tried: its port is one of those that fetch refuses (${BAD_PORT}); an exporter is not held by that`;
    return { check, status: "unknown", message };
  }
  if (configured) return { check, status: "problem", message: `${address} cannot be reached: ${why}` };
  return {
    check,
    status: "unknown",
    message: `no endpoint is named (OTEL_EXPORTER_OTLP_ENDPOINT, --endpoint), and at the default, ${address}, nobody listens`,
  };
}

/** `fetch` puts what happened into the cause, and several attempts into one error. */
function causeOf(thrown: unknown): string {
  const { cause } = Object(thrown) as { readonly cause?: unknown };
  const { errors } = Object(cause) as { readonly errors?: readonly unknown[] };
  const last = errors?.at(-1) ?? cause ?? thrown;
  return systemProblem(last) ?? (last instanceof Error ? last.message : String(last));
}

function joined(base: string, path: string): string {
  return `${base.replace(/\/$/, "")}${path}`;
}

/** The header's value; undefined where there is no user, null where user or password is not percent-encoded. */
export function credentialsOf({ username, password }: URL): string | undefined | null {
  if (username === "") return undefined;
  try {
    return `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64")}`;
  } catch {
    return null;
  }
}

/** The beginning of an answer as text; enough to tell what it is. */
async function firstBytes(answer: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of answer.body ?? []) {
    parts.push(part);
    length += part.length;
    if (length > MAX_ANSWER_BYTES) break;
  }
  return Buffer.concat(parts).toString("utf8").trim();
}

/** True for nothing, for protobuf, and for what may be the beginning of a JSON object. */
function isOtlpAnswer(said: string, headers: Headers): boolean {
  return said === "" || said.startsWith("{") || (headers.get("content-type") ?? "").includes("protobuf");
}
