// What writers of one state folder have claimed, held against what lies there.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readRecords, readVerified, type VerifyReport, verifyLog } from "@toolspan/receipts";
import { count } from "./tally.ts";
import type { Said, WriterOrders } from "./writer.ts";

interface Claim {
  readonly call: string;
  /** Null for what is claimed by a head only. */
  readonly uri: string | null;
  /** It was said to lie under a head. */
  sealed: boolean;
}

interface Found {
  readonly file: string;
  readonly line: number;
  readonly log: string;
  readonly dispatchId: string;
}

export interface Checked {
  /** Claims for which nothing lies there, each with what is wrong. */
  readonly falseClaims: readonly string[];
  /** Handlers that began, and no durable intent says so. */
  readonly effectsUnseen: readonly string[];
  readonly report: VerifyReport;
}

/** What an honest crash may never lead to. */
export const NOTHING_WRONG = { falseClaims: [], effectsUnseen: [] } as const;

export class Ledger {
  readonly root: string;
  readonly #claims = new Map<string, Claim>();
  readonly #effects = new Set<string>();
  /** Claims that stood on disk once. */
  readonly #seen = new Set<string>();
  readonly #taken = new Set<WriterOrders>();
  #counted = { claims: 0, effects: 0 };

  readonly #count: typeof count;

  /** @param counted False for writers that are broken on purpose: what they claim is not counted. */
  constructor(root: string, counted = true) {
    this.root = root;
    this.#count = counted ? count : () => {};
  }

  get claims(): number {
    return this.#claims.size;
  }

  get effects(): number {
    return this.#effects.size;
  }

  /** Takes down what a writer said; again, when it has said more. */
  take(orders: WriterOrders, said: readonly Said[]): void {
    const { tag } = orders;
    if (!this.#taken.has(orders)) this.#count({ runs: 1 });
    this.#taken.add(orders);
    const refused = new Set(said.flatMap((one) => (one.say === "no_claim" ? one.call : [])));
    for (const one of said) {
      if (one.say === "claim") this.#claims.set(one.call, { call: one.call, uri: one.uri, sealed: false });
      else if (one.say === "ran") this.#effects.add(one.call);
      else if (one.say === "sealed") {
        for (let number = 1; number <= one.calls; number++) {
          const call = `${tag}-${number}`;
          if (refused.has(call)) continue;
          const claim = this.#claims.get(call);
          if (claim === undefined) this.#claims.set(call, { call, uri: null, sealed: true });
          else claim.sealed = true;
        }
      }
    }
  }

  /** Looks right after a fault, before anybody has recovered anything. */
  async afterFault(): Promise<Checked> {
    const report = await verifyLog(this.root);
    const receipts = new Map<string, Found[]>();
    const intents = new Set<string>();
    const lines = existsSync(join(this.root, "receipts")) ? readRecords(this.root) : [];
    for await (const { file, line, record } of lines) {
      if (record?.record === "intent") intents.add(record.tool_call_id as string);
      if (record?.record !== "receipt") continue;
      const { chain, dispatch_id: dispatchId, tool_call_id: call } = record;
      const found = { file, line, log: chain.log, dispatchId };
      receipts.set(call as string, [...(receipts.get(call as string) ?? []), found]);
    }
    return this.#check(receipts, intents, report);
  }

  /** Looks when all is over, at nothing but what `readVerified` gives; counts, and says which durable receipts are gone. */
  async atEnd(trust?: string): Promise<Checked & { readonly lost: readonly string[] }> {
    let report: VerifyReport | undefined;
    const receipts = new Map<string, Found[]>();
    const intents = new Set<string>();
    const onReport = (given: VerifyReport): void => {
      report = given;
    };
    for await (const { file, line, record } of readVerified(this.root, { onReport })) {
      if (record.record === "intent") intents.add(record.tool_call_id as string);
      if (record.record !== "receipt") continue;
      const { chain, dispatch_id: dispatchId, tool_call_id: call } = record;
      const found = { file, line, log: chain.log, dispatchId };
      receipts.set(call as string, [...(receipts.get(call as string) ?? []), found]);
    }
    if (trust !== undefined) report = await verifyLog(this.root, { trust });
    const checked = this.#check(receipts, intents, report as VerifyReport);
    const gone = [...this.#seen, ...this.#claims.keys()].filter(
      (call) => this.#claims.has(call) && !receipts.has(call),
    );
    const lost = [...new Set(gone)];
    this.#count({ lost: lost.length });
    return { ...checked, lost };
  }

  #check(receipts: ReadonlyMap<string, readonly Found[]>, intents: ReadonlySet<string>, report: VerifyReport): Checked {
    const heads = headSizes(join(this.root, "receipts"));
    const falseClaims: string[] = [];
    for (const claim of this.#claims.values()) {
      const wrong = wrongWithAll(claim, receipts.get(claim.call) ?? [], heads);
      if (wrong === null) this.#seen.add(claim.call);
      else falseClaims.push(`${claim.call}: ${wrong}`);
    }
    const effectsUnseen = [...this.#effects].filter((call) => !intents.has(call));
    this.#count({
      claims: this.claims - this.#counted.claims,
      effects: this.effects - this.#counted.effects,
      falseClaims: falseClaims.length,
      effectsUnseen: effectsUnseen.length,
    });
    this.#counted = { claims: this.claims, effects: this.effects };
    return { falseClaims, effectsUnseen, report };
  }
}

/** A receipt may stand in several logs: one of its copies has to be what was claimed. */
function wrongWithAll(claim: Claim, copies: readonly Found[], heads: ReadonlyMap<string, number>): string | null {
  let wrong: string | null = `no receipt (${claim.uri ?? "said to be sealed"})`;
  for (const copy of copies) {
    wrong = wrongWith(claim, copy, heads);
    if (wrong === null) return null;
  }
  return wrong;
}

function wrongWith(claim: Claim, found: Found, heads: ReadonlyMap<string, number>): string | null {
  if (claim.uri !== null) {
    const [address = "", dispatchId] = claim.uri.split("#");
    if (dispatchId !== found.dispatchId) return `another dispatch: ${found.dispatchId} for ${claim.uri}`;
    if (basename(fileURLToPath(address)) !== found.file) return `in ${found.file}, not in ${claim.uri}`;
  }
  const covered = heads.get(found.log) ?? 0;
  return claim.sealed && covered < found.line ? `line ${found.line} lies beyond the head over ${covered}` : null;
}

/** Lines under the last head of each log; the latest one may be an earlier one after a power cut, the file of all never loses one. */
function headSizes(receipts: string): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  if (!existsSync(receipts)) return sizes;
  for (const name of readdirSync(receipts)) {
    const [log = "", kind] = name.split(".");
    if (kind !== "head" && kind !== "heads") continue;
    const lines = readFileSync(join(receipts, name), "utf8").split("\n");
    // Complete entries end in an empty line or in signatures; the size stands below the origin, which ends in the log.
    for (const [at, line] of lines.entries()) {
      if (!line.endsWith(`/${log}`) || at + 3 >= lines.length) continue;
      sizes.set(log, Math.max(sizes.get(log) ?? 0, Number(lines[at + 1])));
    }
  }
  return sizes;
}
