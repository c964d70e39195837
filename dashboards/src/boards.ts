/** Every board, by the name of its file. */

import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import { agentRunsBoard } from "./agent-runs-board.ts";
import { layersBoard } from "./layers-board.ts";
import { receiptsBoard } from "./receipts-board.ts";
import { toolCallsBoard } from "./tool-calls-board.ts";

export function boards(): ReadonlyMap<string, Dashboard> {
  return new Map([
    ["tool-calls.json", toolCallsBoard()],
    ["layers.json", layersBoard()],
    ["receipts.json", receiptsBoard()],
    ["agent-runs.json", agentRunsBoard()],
  ]);
}

/** A board as it stands in its file. */
export function boardText(board: Dashboard): string {
  return `${JSON.stringify(board, null, 2)}\n`;
}
