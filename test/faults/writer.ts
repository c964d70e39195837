// The program that is put under faults: it makes tool calls, and says what it was told of their receipts once it was told.
import { writeSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { CAUSE, createDispatcher, diagnostics } from "@toolspan/core";
import { fileSigner, type ReceiptPolicy, withAuditLog } from "@toolspan/receipts";

export type Step = "flush" | "close" | "wait" | "forever" | { readonly calls: number; readonly inFlight?: number };

export interface WriterOrders {
  readonly stateDir: string;
  /** Begins the id of every call, so that calls of many writers can be told apart. */
  readonly tag: string;
  readonly policy: ReceiptPolicy;
  readonly log: "session" | "process";
  /** Calls go round this many sessions. */
  readonly sessions: number;
  /** Path of a signing key. */
  readonly key: string | null;
  /** A log of this size is followed by the next one; the default where it is not given. */
  readonly maxSegmentBytes?: number;
  readonly steps: readonly Step[];
}

/** One line of what the writer says. */
export type Said =
  | { readonly say: "ready" }
  /** The call's result carries a reference: its receipt is durable. */
  | { readonly say: "claim"; readonly call: string; readonly uri: string }
  /** The call's result carries none. */
  | {
      readonly say: "no_claim";
      readonly call: string;
      readonly status: string;
      readonly category: string | null;
      readonly executed: boolean;
      readonly code: string | null;
    }
  /** The handler of this call has begun. */
  | { readonly say: "ran"; readonly call: string }
  /** Every call up to this number stands durably under a head; said only while nothing has gone wrong. */
  | { readonly say: "sealed"; readonly calls: number }
  | { readonly say: "trouble"; readonly kind: string }
  /** The first log is open; it waits for a word. */
  | { readonly say: "waiting" }
  | { readonly say: "closed" };

const orders = JSON.parse(process.argv[2] as string) as WriterOrders;

/** Handed to the operating system before anything else happens: what was said outlives the process. */
function say(said: Said): void {
  writeSync(1, `${JSON.stringify(said)}\n`);
}

let trouble = false;
diagnostics.listen(({ kind }) => {
  if (kind === "guessable_hash") return;
  trouble = true;
  say({ say: "trouble", kind });
});

say({ say: "ready" });
const log = withAuditLog({
  stateDir: orders.stateDir,
  policy: orders.policy,
  log: orders.log,
  signer: orders.key === null ? null : fileSigner(orders.key),
  flushTimeoutMs: 30_000,
  ...(orders.maxSegmentBytes === undefined ? {} : { maxSegmentBytes: orders.maxSegmentBytes }),
});
const dispatch = createDispatcher([log]);

let calls = 0;

async function call(): Promise<void> {
  calls += 1;
  const id = `${orders.tag}-${calls}`;
  const turn = { iteration: 1, sessionId: `session_${calls % orders.sessions}`, toolCallIndex: calls };
  const handler = (): string => {
    if (orders.policy === "intent_first") say({ say: "ran", call: id });
    return id;
  };
  const result = await dispatch({ toolName: "work", toolArgs: { id }, callId: id, turn }, handler);
  const uri = result.audit?.receipt_uri;
  if (uri !== undefined) return say({ say: "claim", call: id, uri });
  if (orders.policy === "best_effort" && result.ok) return;
  trouble = true;
  const { status, executed, errorCategory: category = null } = result;
  const code = (result[CAUSE] as NodeJS.ErrnoException | undefined)?.code ?? null;
  say({ say: "no_claim", call: id, status, category, executed, code });
}

async function flush(): Promise<void> {
  const before = calls;
  try {
    await log.flush();
  } catch {
    return; // told by a diagnostic, or by the calls that it failed
  }
  if (!trouble) say({ say: "sealed", calls: before });
}

async function callMany(count: number, inFlight: number): Promise<void> {
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

/** Until it is killed: alone and in crowds, with heads and closing lines in between. */
async function forever(): Promise<never> {
  for (;;) {
    const dice = Math.random();
    await callMany(1 + Math.floor(dice * 30), dice < 0.5 ? 1 : 16);
    if (dice < 0.6) await flush();
    if (dice < 0.05) await log.close();
    await setImmediate(); // best_effort would otherwise never let its timers run
  }
}

async function wait(): Promise<void> {
  say({ say: "waiting" });
  await new Promise<void>((resolve) => {
    process.stdin.once("data", () => {
      process.stdin.pause();
      process.stdin.unref(); // nobody has to end it for the writer to end
      resolve();
    });
    process.stdin.ref();
    process.stdin.resume();
  });
}

for (const step of orders.steps) {
  if (step === "flush") await flush();
  else if (step === "wait") await wait();
  else if (step === "forever") await forever();
  else if (step === "close") {
    await log.close().catch(() => {});
    say({ say: "closed" });
  } else await callMany(step.calls, step.inFlight ?? 1);
}
