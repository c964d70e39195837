/** One word for what the system says of a file. */

/** What went wrong, for people: the system's code, or the message of our own check. */
export function wordOf(error: unknown): string {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return String(code ?? message ?? "it cannot be read");
}
