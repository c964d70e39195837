/** `exportReceipts`: delivers what a state folder holds to an OTLP endpoint, once or for as long as one likes. */

import { kindOf } from "@toolspan/core";
import { stateRoot } from "../log/state-root.ts";
import { invalidOption, stateDirOf } from "../options.ts";
import { countDeadLetters } from "./dead-letters.ts";
import { Delivery, type DeliveryCounts } from "./delivery.ts";
import { type DeliveryOptions, deliveryEndpoint } from "./delivery-endpoint.ts";
import { Patience } from "./patience.ts";
import { pause } from "./pause.ts";
import type { RetryLimits } from "./retry-waits.ts";
import type { Waiting } from "./spool.ts";

export interface ExportOptions extends DeliveryOptions {
  /** State root; default `TOOLSPAN_STATE_DIR`, else `.toolspan` under the project root. */
  readonly stateDir?: string;
  /** Goes on until `signal` fires. Default false. */
  readonly follow?: boolean;
  /** Sends what the endpoint has refused before, in place of what is new. Default false. */
  readonly deadLetters?: boolean;
  /** Ends it; what was not sent is in the report. */
  readonly signal?: AbortSignal;
  /** Without `follow`: gives up when nothing was answered for so long, milliseconds, > 0. Default 60,000. */
  readonly patienceMs?: number;
  /** Waits before a request is repeated, milliseconds: the first, and the longest. Default 500 and 30,000. */
  readonly retry?: RetryLimits;
  /** Told each time something was answered for. */
  readonly onProgress?: (counts: DeliveryCounts) => void;
  /** Told when the endpoint cannot be had, and how long it is left alone now. */
  readonly onAway?: (reason: string, waitMs: number) => void;
}

export interface ExportReport extends DeliveryCounts {
  /** Name of the endpoint's folder under `<state root>/delivery/`. */
  readonly endpoint: string;
  /** Its address, without a query. */
  readonly url: string;
  /** What the endpoint has not answered for. */
  readonly left: Waiting;
  /** Records in the endpoint's dead-letter file now. */
  readonly deadLetters: number;
  /** Who delivers to this endpoint at the moment, so that nothing was sent from here; else null. */
  readonly heldBy: string | null;
}

const DEFAULT_PATIENCE_MS = 60_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** How often logs that others write are looked at. */
const LOOK_MS = 500;

/**
 * Delivers every durable line and every head of a state folder, in the order of each log, at least once.
 *
 * A cursor for each log, in `<state root>/delivery/<endpoint>/`, remembers what was answered for; whoever delivers next goes on there. One sender at a time, by a lock. What the endpoint refuses for good is kept in its dead-letter file.
 *
 * @throws TOOLSPAN_INVALID_OPTION for a bad option, such as no endpoint; TOOLSPAN_RECEIPT_STORE when the endpoint's folder cannot be made; what the system throws when a cursor cannot be written.
 */
export async function exportReceipts(options: ExportOptions = {}): Promise<ExportReport> {
  const endpoint = deliveryEndpoint("exportReceipts", options);
  const { follow = false, signal, onProgress, onAway } = options;
  const patienceMs = patienceOf(options.patienceMs);
  const root = stateRoot(stateDirOf("exportReceipts", options.stateDir));
  const stop = new AbortController();
  const end = (): void => stop.abort();
  signal?.addEventListener("abort", end);
  if (signal?.aborted === true) end();
  const patience = new Patience(follow ? null : patienceMs, end);
  const progress = (counts: DeliveryCounts): void => {
    patience.renew();
    onProgress?.(counts);
  };
  const away = (reason: string, waitMs: number): void => onAway?.(reason, waitMs);
  try {
    const delivery = new Delivery(root, endpoint, { progress, away }, options.retry);
    const heldBy = await deliver(delivery, options, stop.signal);
    const deadLetters = await countDeadLetters(delivery.folder);
    const { counts } = delivery;
    return {
      endpoint: endpoint.id,
      url: endpoint.shown,
      ...counts,
      left: await delivery.waiting(),
      deadLetters,
      heldBy,
    };
  } finally {
    patience.end();
    signal?.removeEventListener("abort", end);
  }
}

/** Null, or who holds the lock. */
async function deliver(
  delivery: Delivery,
  { follow, deadLetters }: ExportOptions,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    let heldBy = delivery.take();
    while (heldBy !== null && follow === true && (await pause(LOOK_MS, signal))) heldBy = delivery.take();
    if (heldBy !== null) return heldBy;
    if (deadLetters === true) await delivery.resend(signal);
    else while ((await delivery.pass(signal)) && follow === true && (await pause(LOOK_MS, signal)));
    return null;
  } finally {
    delivery.release();
  }
}

function patienceOf(value: number | undefined): number {
  if (value === undefined) return DEFAULT_PATIENCE_MS;
  if (typeof value === "number" && value > 0 && value <= LONGEST_TIMER_MS) return value;
  const received = typeof value === "number" ? String(value) : kindOf(value);
  throw invalidOption(
    "exportReceipts",
    "patienceMs",
    `a number of milliseconds from 1 to ${LONGEST_TIMER_MS}`,
    received,
  );
}
