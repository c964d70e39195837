/** Checks `collector` and `receipts_endpoint`: whether somebody takes OTLP at the addresses in use, and what their clock says. */

import { systemProblem } from "../command-error.ts";
import { type Finding, type Patient, variable } from "./finding.ts";

const DEFAULT_ENDPOINT = "http://localhost:4318";

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
  const credentials = parsed.username === "" ? undefined : basic(parsed);
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
      signal: AbortSignal.timeout(timeoutMs),
    });
    await answer.body?.cancel();
    const there = Date.parse(answer.headers.get("date") ?? "");
    const clock = Number.isFinite(there) ? { there, here: (started + Date.now()) / 2 } : undefined;
    return { findings: [answered(check, address, answer.status)], clock };
  } catch (thrown) {
    return { findings: [silent(check, address, configured, thrown, timeoutMs)], clock: undefined };
  }
}

function answered(check: string, address: string, status: number): Finding {
  if (status >= 200 && status < 300) return { check, status: "ok", message: `${address} takes OTLP` };
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

function basic({ username, password }: URL): string {
  return `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64")}`;
}
