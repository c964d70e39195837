// Parts for laws of receipts: a folder of its own, calls through the real dispatcher, and what lies on disk afterwards.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher, type Dispatcher, type ToolCaller, type ToolHandler } from "@toolspan/core";
import { type AuditLogOptions, type LoggedReceipt, type LogRecord, withAuditLog } from "@toolspan/receipts";
import { onTestFinished } from "vitest";

/** A new empty folder, gone when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "toolspan-receipts-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A copy of `folder` that may be spoiled. */
export function copyOf(folder: string): string {
  const copy = temporaryFolder();
  cpSync(folder, copy, { recursive: true });
  return copy;
}

export interface Recorded {
  readonly root: string;
  readonly receipts: string;
  readonly dispatch: Dispatcher;
  /** Runs one call of `tool` in session `session`. */
  call(tool?: string, session?: string, handler?: ToolHandler): ReturnType<Dispatcher>;
  close(): Promise<void>;
}

/** A dispatcher whose receipts go to a folder of its own. */
export function recording(options: AuditLogOptions = {}, layers: readonly ToolCaller[] = []): Recorded {
  const root = options.stateDir ?? temporaryFolder();
  const log = withAuditLog({ stateDir: root, ...options });
  const dispatch = createDispatcher([log, ...layers]);
  let count = 0;
  return {
    root,
    receipts: join(root, "receipts"),
    dispatch,
    call(tool = "add", session = "session", handler = ({ toolArgs }) => toolArgs) {
      count += 1;
      const turn = { iteration: 1, sessionId: session, toolCallIndex: count };
      return dispatch({ toolName: tool, toolArgs: { count }, callId: `call_${count}`, turn }, handler);
    },
    close: async () => void (await log.close()),
  };
}

/** A closed log of `count` receipts. */
export async function closedLog(count: number, options: AuditLogOptions = {}): Promise<Recorded> {
  const recorded = recording(options);
  for (let i = 0; i < count; i++) await recorded.call();
  await recorded.close();
  return recorded;
}

export function logsIn(receipts: string): readonly string[] {
  return readdirSync(receipts)
    .filter((name) => name.endsWith(".jsonl"))
    .sort();
}

export function linesOf(path: string): readonly string[] {
  return readFileSync(path, "utf8").split("\n").slice(0, -1);
}

export function recordsOf(path: string): readonly LogRecord[] {
  return linesOf(path).map((line) => JSON.parse(line) as LogRecord);
}

/** Every record of every log in `receipts`, by file. */
export function everyRecord(receipts: string): readonly LogRecord[] {
  return logsIn(receipts).flatMap((file) => recordsOf(join(receipts, file)));
}

/** Every complete receipt, also of logs that end in the middle of a line. */
export function everyReceipt(receipts: string): readonly LoggedReceipt[] {
  return everyRecord(receipts).filter((record) => record.record === "receipt");
}
