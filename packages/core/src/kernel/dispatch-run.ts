/** The state of one dispatch: made when it is entered, shared by its frames, read by recorders and observers. */

import type { DispatchScope, TraceRef } from "../ports/dispatch-scope.ts";
import type { DispatcherOptions, ToolHandler } from "../ports/dispatcher-port.ts";
import type { Digest, Hasher } from "../ports/hasher.ts";
import type { DispatchObserver } from "../ports/observer.ts";
import type { LateSettlement } from "../ports/outcome.ts";
import { type AuditBlob, mergeAudit } from "../vocabulary/audit.ts";
import { type Clock, createClock, type Reading, stoppedClock } from "../vocabulary/clock.ts";
import type { ToolCall } from "../vocabulary/tool-call.ts";
import type { ToolResult } from "../vocabulary/tool-result.ts";
import { uuidv7 } from "../vocabulary/uuid.ts";
import { absentDispatch } from "./absent-observer.ts";
import { fanOutObserver, listens } from "./fan-out-observer.ts";
import type { Frame } from "./frame.ts";
import { openSafely, tellSafely } from "./guard.ts";
import type { Plan } from "./plan.ts";
import type { ToolStream } from "./tool-stream.ts";

export class DispatchRun implements DispatchScope {
  readonly plan: Plan;
  readonly options: DispatcherOptions;
  readonly call: ToolCall;
  readonly #handler: ToolHandler | undefined;
  readonly clock: Clock;
  readonly startedAt: Reading;
  readonly hasher: Hasher | null;
  readonly observer: DispatchObserver;
  /** True when an observer reads what the dispatch leaves behind. */
  readonly watched: boolean;
  /** True when an observer also wants to hear of layers and handler runs while they run. */
  readonly listening: boolean;
  /** True when somebody reads layer runs: then every boundary reads the clock. */
  readonly recording: boolean;
  /** True when digests are recorded. */
  readonly hashing: boolean;
  readonly argsDigest: Digest | null;
  trace: TraceRef | null = null;
  entered = false;
  answer: Promise<ToolResult> | undefined;
  /**
   * The layer run entered last; each knows the one before it. Not an array: V8 learns to allocate the arrays of such a
   * literal as old at once, and an old one, dead or not, keeps what it holds through a collection of the young. So every
   * dispatch was copied twice, which cost more than all else that is done for it.
   */
  lastFrame: Frame | null = null;
  /** How often each position was entered; the last entry counts handler runs. */
  readonly entries: number[];
  audit: AuditBlob | undefined;
  executedArgs: Digest | null = null;
  attempts = 0;
  executionMs = 0;
  /** Streams that handlers of this dispatch have opened. */
  streams: ToolStream[] | undefined;
  /** True once recorders and observers have heard of the end. */
  private ended = false;
  /** What settled late before that. */
  private heldBack: LateSettlement[] | undefined;
  private mintedId: string | undefined;

  /** The handler, for the terminal alone: layers hold this object as `scope.dispatch`, and must not get past it. */
  static handlerOf(run: DispatchRun): ToolHandler | undefined {
    return run.#handler;
  }

  constructor(plan: Plan, options: DispatcherOptions, call: ToolCall, handler: ToolHandler | undefined) {
    this.plan = plan;
    this.options = options;
    this.call = call;
    this.#handler = handler;
    this.hasher = plan.hasher;
    this.entries = plan.unentered.slice();
    const observed = plan.observers.length > 0;
    this.clock = observed || plan.recorders.length > 0 || plan.mayAudit ? this.takeClock() : stoppedClock;
    this.startedAt = this.clock.now();
    this.observer = observed ? this.observe() : absentDispatch;
    this.trace = this.observer.trace;
    this.watched = this.observer.recording;
    this.listening = listens(this.observer);
    this.recording = this.watched || plan.recorders.length > 0 || plan.mayAudit;
    this.hashing = plan.recorders.length > 0 || (this.watched && plan.observersHash);
    this.argsDigest = this.hashing ? this.digestArgs(call) : null;
  }

  /** Which entry of a position this is, 1-based. */
  nextEntry(position: number): number {
    const entry = (this.entries[position] as number) + 1;
    this.entries[position] = entry;
    return entry;
  }

  /** Minted when first asked for: a dispatch that nobody records needs none. */
  get id(): string {
    this.mintedId ??= uuidv7();
    return this.mintedId;
  }

  /** Digest of a call's arguments; their raw text where that could not be parsed. */
  digestArgs({ toolArgs, rawArgs }: ToolCall): Digest | null {
    return digestSafely(this.hasher, (hasher) =>
      toolArgs === undefined && rawArgs !== undefined ? hasher.text(rawArgs, "args") : hasher.value(toolArgs, "args"),
    );
  }

  /** True when two argument values differ, by plain digest where somebody hashes, else by identity. */
  argsDiffer(before: unknown, after: unknown): boolean {
    if (Object.is(before, after)) return false;
    const { hasher } = this;
    if (!this.hashing || hasher === null) return true;
    try {
      const plain = hasher.plain(before);
      return plain === null || plain !== hasher.plain(after);
    } catch {
      return true; // what cannot be compared counts as changed
    }
  }

  /** Keeps what a layer attached, even if an outer one drops it. */
  keepAudit(audit: AuditBlob): void {
    this.audit = mergeAudit(this.audit ?? {}, audit);
  }

  /** The running stream that `result` hands out: the dispatch then ends with it. */
  runningStream(result: ToolResult): ToolStream | undefined {
    return this.streams?.find((stream) => stream.isRunningIn(result));
  }

  /** Tells of a handler that nobody waited for: after the end, never before it. */
  settledLate(settlement: LateSettlement): void {
    if (this.ended) this.tellLate(settlement);
    else this.heldBack = [...(this.heldBack ?? []), settlement];
  }

  /** Recorders and observers have heard of the end. */
  end(): void {
    this.ended = true;
    for (const settlement of this.heldBack ?? []) this.tellLate(settlement);
    this.heldBack = undefined;
  }

  private tellLate(settlement: LateSettlement): void {
    tellSafely(() => this.observer.late(settlement));
    for (const recorder of this.plan.recorders) tellSafely(() => recorder.late?.(settlement));
  }

  private takeClock(): Clock {
    for (const observer of this.plan.observers) {
      const inherited = openSafely(() => observer.clock?.(), undefined);
      if (typeof inherited?.now === "function") return inherited;
    }
    return openSafely(this.options.createClock ?? createClock, undefined) ?? createClock();
  }

  private observe(): DispatchObserver {
    const open = this.plan.observers.map((observer) =>
      readable(openSafely(() => observer.dispatch(this), absentDispatch)),
    );
    return open.length === 1 ? (open[0] as DispatchObserver) : fanOutObserver(open);
  }
}

/** The observer; an absent one where it is none, or where reading it throws. */
function readable(observer: DispatchObserver): DispatchObserver {
  const isSound = openSafely(() => observer.trace !== undefined && typeof observer.recording === "boolean", false);
  return isSound ? observer : absentDispatch;
}

/** A digest from a hasher that may be somebody else's: no throw of it reaches the call. */
export function digestSafely(hasher: Hasher | null, digest: (hasher: Hasher) => Digest): Digest | null {
  if (hasher === null) return null;
  try {
    return digest(hasher);
  } catch {
    return { hash: "refused:hasher_threw", redacted: [] };
  }
}
