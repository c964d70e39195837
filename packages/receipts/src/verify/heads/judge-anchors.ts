/** What heads that were kept elsewhere say of logs: of each other, and of logs that are not there. */

import type { Findings } from "../findings.ts";
import type { Anchor, AnchorStore } from "./anchor-store.ts";

/** What a `prune` line says of a log that was removed on purpose. */
export interface PrunedLog {
  readonly file: string;
  readonly lines: number;
  readonly root: string;
  /** Where the line stands. */
  readonly said: { readonly file: string; readonly line: number };
}

/** Two heads over as many lines with different roots: both stay where they are, as evidence. */
export function judgeForks(anchors: readonly Anchor[], findings: Findings): void {
  let last: Anchor | null = null;
  for (const anchor of anchors) {
    if (anchor.signing?.by === "bad") continue;
    if (last?.size === anchor.size && last.root !== anchor.root) {
      const message = `it and line ${last.line} of ${last.file} state different roots for ${anchor.size} lines of log ${anchor.log}`;
      findings.add("FORKED", anchor.file, anchor.line, message);
    }
    last = anchor;
  }
}

/** Logs that anchors name and that are not there. `trusted`: lines that say why count only when a trusted key has signed them. */
export function judgeAbsent(
  store: AnchorStore,
  isThere: (log: string) => boolean,
  prunedLog: (log: string) => PrunedLog | undefined,
  trusted: boolean,
  findings: Findings,
): void {
  let others = 0;
  let other: Anchor | undefined;
  for (const { log, anchors } of store.logs()) {
    if (isThere(log)) continue;
    const bad = anchors.find(({ signing }) => signing?.by === "bad");
    if (bad !== undefined) {
      findings.add("BAD_SIGNATURE", bad.file, bad.line, "a signature that names a trusted key is not that key's");
    }
    const own = anchors.filter(({ signing }) => signing?.by !== "bad" && signing?.by !== "unknown");
    const most = own.at(-1);
    if (most === undefined) {
      others++;
      other ??= anchors[0];
      continue;
    }
    judgeForks(anchors, findings);
    const pruned = prunedLog(log);
    if (pruned !== undefined) judgePruned(own, pruned, trusted, findings);
    else {
      const message = `log ${log}, of which it states ${most.size} lines, is not there`;
      findings.add("LOST_LOG", most.file, most.line, message);
    }
  }
  if (other !== undefined) {
    findings.add(
      "OTHER_ANCHORS",
      other.file,
      other.line,
      `heads of ${others} other logs, of keys that are not trusted`,
    );
  }
}

/** The line that says that a log was removed says what it was. */
function judgePruned(
  anchors: readonly Anchor[],
  { file, lines, root, said }: PrunedLog,
  trusted: boolean,
  findings: Findings,
): void {
  findings.add("PRUNED", file, null, `it was removed on purpose, as line ${said.line} of ${said.file} says`);
  if (!trusted) {
    // Whoever removed the log could have written the line as well.
    findings.add("PRUNED_UNSIGNED", said.file, said.line, `nobody asked who says that ${file} was removed on purpose`);
  }
  for (const anchor of anchors) {
    if (anchor.size > lines) {
      const message = `${file} was removed with ${lines} lines, it states ${anchor.size}`;
      findings.add("TRUNCATED", anchor.file, anchor.line, message);
      return;
    }
    if (anchor.size === lines && anchor.root !== root) {
      findings.add("ANCHOR_MISMATCH", anchor.file, anchor.line, `${file} was removed with another root than it states`);
    }
  }
}
