// What a consumer makes of the Collector's files of receipts: each line once, by log, in its order.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface LogRecord {
  readonly eventName?: string;
  readonly body: { readonly stringValue: string };
  readonly attributes?: readonly {
    readonly key: string;
    readonly value: { stringValue?: string; intValue?: string };
  }[];
}

interface OtlpLogs {
  readonly resourceLogs: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly LogRecord[] }[] }[];
}

export interface Collected {
  /** Log id to its lines, sorted by `seq`. */
  readonly lines: ReadonlyMap<string, readonly string[]>;
  /** Exact copies that were dropped. */
  readonly duplicates: number;
}

/** Every file of receipts in the Collector's folder, rotated ones included, oldest first. */
export function receiptFiles(folder: string): readonly string[] {
  return readdirSync(join(folder, "receipts"))
    .sort()
    .map((name) => join(folder, "receipts", name));
}

/** @throws Error where two different lines claim one place. */
export function collectedReceipts(folder: string): Collected {
  const logs = new Map<string, Map<number, string>>();
  let duplicates = 0;
  for (const record of receiptFiles(folder).flatMap(recordsIn)) {
    if (record.eventName !== "toolspan.tool_call.receipt") continue;
    const line = record.body.stringValue;
    const { chain } = JSON.parse(line) as { chain: { log: string; seq: number } };
    const log = logs.get(chain.log) ?? new Map<number, string>();
    logs.set(chain.log, log);
    const known = log.get(chain.seq);
    if (known === undefined) log.set(chain.seq, line);
    else if (known === line) duplicates += 1;
    else throw new Error(`two lines claim ${chain.log} ${chain.seq}`);
  }
  const lines = new Map(
    [...logs].map(([id, log]) => [id, [...log].sort(([a], [b]) => a - b).map(([, line]) => line)] as const),
  );
  return { lines, duplicates };
}

function recordsIn(file: string): readonly LogRecord[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => (JSON.parse(line) as OtlpLogs).resourceLogs)
    .flatMap(({ scopeLogs }) => scopeLogs)
    .flatMap(({ logRecords }) => logRecords);
}

/** The lines of a state folder's receipts as they are on disk, by log. */
export function localReceipts(stateDir: string): ReadonlyMap<string, readonly string[]> {
  const folder = join(stateDir, "receipts");
  const logs = new Map<string, readonly string[]>();
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".jsonl"))) {
    const lines = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
    const { chain } = JSON.parse(lines[0] ?? "{}") as { chain: { log: string } };
    logs.set(chain.log, lines);
  }
  return logs;
}
