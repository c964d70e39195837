/** What logs and spans say of each dispatch, in as many passes over the logs as the table of dispatches needs. */

import { join } from "node:path";
import type { LogRecord } from "../../records/record.ts";
import type { Findings } from "../findings.ts";
import { parseLine } from "../lines/parse-line.ts";
import { readLines } from "../lines/read-lines.ts";
import type { SurveyedScope } from "../survey/survey-scope.ts";
import type { Dispatches } from "./dispatches.ts";
import { judgeSpans } from "./judge-spans.ts";
import type { Neighbours } from "./neighbours.ts";

export interface DispatchFacts {
  readonly surveyed: SurveyedScope;
  /** It has taken all records once. */
  readonly dispatches: Dispatches;
  readonly neighbours: Neighbours;
  readonly findings: Findings;
}

/** Judges spans, intents without a receipt, and copies of one record; returns how many spans name a durable receipt. */
export async function judgeDispatches({ surveyed, dispatches, neighbours, findings }: DispatchFacts): Promise<number> {
  const { scope, logs, indexes, label } = surveyed;
  const spansOf = (pass: number): Promise<number> =>
    judgeSpans({
      scope,
      pass,
      holds: ({ dispatchId, log }) => {
        const index = indexes.get(log);
        if (index !== undefined) return dispatches.hasReceipt(dispatchId, index);
        return pass > 0 || neighbours.prunedLog(log) !== undefined;
      },
      findings,
    });
  const claims = await spansOf(0);
  dispatches.endPass();
  for (let pass = 1; pass < dispatches.passes; pass++) {
    dispatches.begin(pass);
    await readAgain(surveyed, (record, log, line) => dispatches.take(record, log, "", line, pass));
    await spansOf(pass);
    dispatches.endPass();
  }
  if (dispatches.hasCopies) {
    await readAgain(surveyed, (record, log, line) => {
      dispatches.compare(record, label(logs[log]?.file ?? ""), line);
    });
  }
  return claims;
}

/** Reads all logs once more; what is wrong with them was told before. */
async function readAgain(
  { scope, logs }: SurveyedScope,
  take: (record: LogRecord, log: number, line: number) => void,
): Promise<void> {
  for (const [index, { file }] of logs.entries()) {
    try {
      await readLines(join(scope.folder, file), (line, number) => {
        const { record } = parseLine(line, false);
        if (record !== null) take(record, index, number);
      });
    } catch {
      // Told on the first pass.
    }
  }
}
