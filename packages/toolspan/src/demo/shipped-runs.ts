/** The recorded conversations that come with the command. */

import { fileURLToPath } from "node:url";
import type { RecordedAgent } from "./replay-runs.ts";

/**
 * 28 runs of GPT-4o serving airline customers, with their licence beside them.
 *
 * `examples/airline/` is their source; the package's `prepare` copies them, so that they are in the installed package too.
 */
export const SHIPPED_RUNS: string = fileURLToPath(new URL("../../data/airline-gpt4o-28.jsonl", import.meta.url));

export const SHIPPED_AGENT: RecordedAgent = { agentName: "airline", model: "gpt-4o", provider: "openai" };

/** For files of which nothing is known. */
export const UNKNOWN_AGENT: RecordedAgent = { agentName: "replay", model: "recorded" };
