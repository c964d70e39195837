/** What a run may spend, and the check of what a caller asks for. */

import { kindOf, ToolspanError } from "@toolspan/core";

export interface Limits {
  /** Model calls in one run, integer >= 1 or Infinity. Default 50. */
  readonly maxModelCalls?: number;
  /** Tool calls in one run, refused ones counted, integer >= 0 or Infinity. Default 200. */
  readonly maxToolCalls?: number;
  /** Tool calls of one turn that run at the same time, integer >= 1 or Infinity. Default 1. */
  readonly maxConcurrentTools?: number;
  /** Further attempts that layers make of tools, over the whole run, integer >= 0 or Infinity. Default Infinity. */
  readonly maxRetries?: number;
  /** Wall-clock time of a run, milliseconds, 1 to 2,147,483,647. Default none. */
  readonly deadlineMs?: number;
  /** Time of one tool call with all its layers and attempts, same range; a tool's own `timeoutMs` goes before. Default none. */
  readonly callTimeoutMs?: number;
  /** How long an aborted call may take to end before the run leaves it behind, milliseconds, from 0. Default 1,000. */
  readonly abortGraceMs?: number;
}

export interface CheckedLimits {
  readonly maxModelCalls: number;
  readonly maxToolCalls: number;
  readonly maxConcurrentTools: number;
  readonly maxRetries: number;
  readonly deadlineMs: number | undefined;
  readonly callTimeoutMs: number | undefined;
  readonly abortGraceMs: number;
}

/** Longest delay a timer takes; a longer one would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** @throws TOOLSPAN_INVALID_OPTION for a limit out of its range. */
export function checkLimits(limits: Limits = {}): CheckedLimits {
  return {
    maxModelCalls: count("maxModelCalls", limits.maxModelCalls ?? 50, 1),
    maxToolCalls: count("maxToolCalls", limits.maxToolCalls ?? 200, 0),
    maxConcurrentTools: count("maxConcurrentTools", limits.maxConcurrentTools ?? 1, 1),
    maxRetries: count("maxRetries", limits.maxRetries ?? Number.POSITIVE_INFINITY, 0),
    deadlineMs: limits.deadlineMs === undefined ? undefined : timer("deadlineMs", limits.deadlineMs, 1),
    callTimeoutMs: limits.callTimeoutMs === undefined ? undefined : timer("callTimeoutMs", limits.callTimeoutMs, 1),
    abortGraceMs: timer("abortGraceMs", limits.abortGraceMs ?? 1_000, 0),
  };
}

function count(option: string, value: number, least: number): number {
  if (value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && value >= least)) return value;
  return refuse(option, `an integer >= ${least} or Infinity`, value);
}

function timer(option: string, value: number, least: number): number {
  if (Number.isFinite(value) && value >= least && value <= MAX_TIMER_MS) return value;
  return refuse(option, `milliseconds from ${least} to ${MAX_TIMER_MS}`, value);
}

function refuse(option: string, expected: string, received: unknown): never {
  throw new ToolspanError("TOOLSPAN_INVALID_OPTION", {
    subject: "createAgent",
    option: `limits.${option}`,
    expected,
    received: typeof received === "number" ? String(received) : kindOf(received),
  });
}
