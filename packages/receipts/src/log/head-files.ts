/** Names of the files that hold a log's heads, beside the log. */

/** `all` only grows; `latest` is replaced whole; `next` is `latest` before it has its name. */
export interface HeadFiles {
  readonly all: string;
  readonly latest: string;
  readonly next: string;
}

export function headFiles(log: string): HeadFiles {
  return { all: `${log}.heads`, latest: `${log}.head`, next: `${log}.head.next` };
}

/** The log that a file of heads belongs to; null for other names. */
export function logOfHeadFile(name: string): { readonly log: string; readonly kind: keyof HeadFiles } | null {
  const match = /^([0-9a-f-]{36})\.(heads|head|head\.next)$/.exec(name);
  if (match === null) return null;
  const kind = match[2] === "heads" ? "all" : match[2] === "head" ? "latest" : "next";
  return { log: match[1] as string, kind };
}
