/** `export --spans`: sends the span files of a state folder to an OTLP endpoint, line by line, as they stand. */

import { join } from "node:path";
import { stateRoot } from "@toolspan/receipts";
import { type TraceClient, traceClient } from "@toolspan/telemetry/node";
import { CommandError, systemProblem } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { isFolder, isRegularFile, jsonlFiles, type OddFile, oddJsonlFiles } from "../files/files.ts";
import { type FileLine, MAX_LINE_BYTES, readLines } from "../files/read-lines.ts";
import { spansOfLine } from "../show/trace-span.ts";
import type { Console } from "../terminal/console.ts";
import { counted } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import type { ExportCommandOptions } from "./export.ts";
import { headersOf } from "./headers.ts";

const DEFAULT_PATIENCE_SECONDS = 60;

/** What became of the spans; the fields of `--json`. */
interface ReplayReport {
  readonly url: string;
  files: number;
  /** Requests that were taken: one a line. */
  requests: number;
  spans: number;
  /** Spans of requests that were refused whole or in part. */
  refused: number;
  /** Spans that were not sent, since the endpoint stayed away. */
  left: number;
  /** Lines that hold no request of spans; a torn last line is a note, not one of these. */
  unreadable: number;
  /** Files that could not be read to their end, and what has the name of one and is none. */
  unreadable_files: number;
  /** Each with file and line. */
  readonly notes: string[];
}

/**
 * Replays spans: ids, times and attribute types are those of the file, byte for byte. The same spans may be sent again; a
 * trace store keeps one of each id.
 *
 * @returns 0 when the endpoint has every span, 1 when it refused some or a line was unreadable, 2 when it stayed away or there are no spans.
 * @throws CommandError where there is no such folder or file, or no endpoint is named.
 */
export async function replaySpans(
  console: Console,
  path: string | undefined,
  options: ExportCommandOptions,
): Promise<ExitCode> {
  const { files, odd } = await filesOf(path);
  const client = clientOf(options);
  const report: ReplayReport = {
    url: client.url,
    files: files.length,
    requests: 0,
    spans: 0,
    refused: 0,
    left: 0,
    unreadable: 0,
    unreadable_files: odd.length,
    notes: odd.map(({ path: name, what }) => `${name}: is ${what}, not a file`),
  };
  try {
    for (const file of files) await replayFile(file, client, report);
  } finally {
    client.close();
  }
  if (options.json) console.out.write(`${JSON.stringify(report)}\n`);
  else for (const line of linesOf(report)) console.out.write(`${terminalText(line)}\n`);
  if (report.left > 0 || files.length === 0) return EXIT.unknown;
  return report.refused + report.unreadable + report.unreadable_files > 0 ? EXIT.failed : EXIT.ok;
}

interface Found {
  readonly files: readonly string[];
  readonly odd: readonly OddFile[];
}

async function filesOf(path: string | undefined): Promise<Found> {
  if (path !== undefined && (await isRegularFile(path))) return { files: [path], odd: [] };
  const folder = stateRoot(path);
  if (!(await isFolder(folder))) throw new CommandError(`${folder}: no such file or folder`);
  const spans = join(folder, "spans");
  return { files: await jsonlFiles(spans), odd: await oddJsonlFiles(spans) };
}

function clientOf({ endpoint, header, patience = DEFAULT_PATIENCE_SECONDS }: ExportCommandOptions): TraceClient {
  const [name, address] = endpoint === undefined ? endpointVariable() : ["--endpoint", endpoint];
  if (address === undefined) {
    throw new CommandError("export: no endpoint is named; give --endpoint <url> or set OTEL_EXPORTER_OTLP_ENDPOINT");
  }
  if (!(/^https?:/.test(address) && URL.canParse(address))) {
    throw new CommandError(`export: ${name}: expected an http or https address`);
  }
  return traceClient({
    ...(endpoint === undefined ? {} : { endpoint }),
    headers: headersOf(header ?? []),
    retryMs: patience * 1000,
  });
}

/** The variable that is in use, and what it says; empty ones count as unset. */
function endpointVariable(): readonly [name: string, address: string | undefined] {
  const names = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] as const;
  const set = names.find((name) => (process.env[name]?.trim() ?? "") !== "");
  return [set ?? "", set === undefined ? undefined : process.env[set]?.trim()];
}

/** A file that cannot be read to its end keeps no other from being sent. */
async function replayFile(file: string, client: TraceClient, report: ReplayReport): Promise<void> {
  try {
    for await (const line of readLines(file)) await replayLine(file, line, client, report);
  } catch (thrown) {
    const why = systemProblem(thrown);
    if (why === undefined) throw thrown;
    report.unreadable_files += 1;
    report.notes.push(`${file}: ${why.replace(`${file}: `, "")}`);
  }
}

async function replayLine(file: string, line: FileLine, client: TraceClient, report: ReplayReport): Promise<void> {
  const { number, text, tooLong, ended } = line;
  const spans = spansOfLine(text)?.length;
  if (spans === undefined) {
    if (ended || tooLong) report.unreadable += 1;
    report.notes.push(`${file}:${number}: ${tooLong ? TOO_LONG : ended ? "no request of spans" : TORN}`);
  } else if (report.left > 0) {
    // Nobody answered for as long as patience goes: what follows is counted, not tried.
    report.left += spans;
  } else await send(`${file}:${number}`, text, spans, client, report);
}

const TORN = "torn; its writer was stopped in mid-line, or is still writing";
const TOO_LONG = `longer than ${MAX_LINE_BYTES / 1024 ** 2} MiB; passed over`;

async function send(
  place: string,
  text: string,
  spans: number,
  client: TraceClient,
  report: ReplayReport,
): Promise<void> {
  const answer = await client.send(text);
  if (answer.sent) {
    // What an endpoint says of itself: never more than it was sent.
    const rejected = Math.min(answer.rejected, spans);
    report.requests += 1;
    report.spans += spans - rejected;
    report.refused += rejected;
    if (rejected > 0) report.notes.push(`${place}: ${counted(rejected, "span")} of ${spans} refused`);
  } else if (answer.reason === "rejected" && !/50[234]|429/.test(answer.detail)) {
    report.refused += spans;
    report.notes.push(`${place}: refused (${answer.detail})`);
  } else {
    report.left += spans;
    report.notes.push(`${place}: not delivered (${answer.reason}, ${answer.detail})`);
  }
}

function linesOf({
  unreadable_files: unreadableFiles,
  url,
  files,
  requests,
  spans,
  refused,
  left,
  unreadable,
  notes,
}: ReplayReport): readonly string[] {
  return [
    `${counted(spans, "span")} in ${counted(requests, "request")} from ${counted(files, "file")} sent to ${url}`,
    ...(refused > 0 ? [`${counted(refused, "span")} refused`] : []),
    ...(left > 0 ? [`${counted(left, "span")} not delivered: the endpoint stayed away`] : []),
    ...(unreadable > 0 ? [`${counted(unreadable, "line")} unreadable`] : []),
    ...(unreadableFiles > 0 ? [`${counted(unreadableFiles, "file")} unreadable`] : []),
    ...notes.map((note) => `note: ${note}`),
  ];
}
