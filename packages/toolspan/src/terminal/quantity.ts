/** Numbers as people read them. */

const grouped = new Intl.NumberFormat("en-US");

/** `146`, `522,143`. */
export function count(value: number): string {
  return grouped.format(value);
}

/** `1 line`, `2 lines`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A duration in three significant digits or so: `84 µs`, `1.27 ms`, `312 ms`, `4.10 s`, `3 min 20 s`. */
export function duration(ms: number): string {
  if (ms < 0.9995) return `${Math.round(ms * 1000)} µs`;
  if (ms < 9.995) return `${ms.toFixed(2)} ms`;
  if (ms < 99.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_995) return `${(ms / 1000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1000);
  return `${count(Math.floor(seconds / 60))} min ${seconds % 60} s`;
}
