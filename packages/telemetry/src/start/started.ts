/** Whether a provider that `startTelemetry` registered writes the JSONL file already. */

let writers = 0;

/** Returns what takes the mark away again. */
export function markJsonlStarted(): () => void {
  writers += 1;
  let marked = true;
  return () => {
    if (marked) writers -= 1;
    marked = false;
  };
}

export function isJsonlStarted(): boolean {
  return writers > 0;
}
