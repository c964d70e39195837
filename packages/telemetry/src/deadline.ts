/** Waiting with an end: no flush of ours can hang. */

export type Outcome = "done" | "failed" | "deadline";

/** Waits for `work`, at most `timeoutMs`; never rejects. What comes after the deadline is not heard. */
export async function withDeadline(work: () => Promise<unknown>, timeoutMs: number): Promise<Outcome> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<Outcome>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, "deadline");
  });
  const done = (async (): Promise<Outcome> => {
    try {
      await work();
      return "done";
    } catch {
      return "failed";
    }
  })();
  try {
    return await Promise.race([done, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
