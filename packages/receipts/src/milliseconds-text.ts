/** Milliseconds as JSON text, straight from whole nanoseconds: printing a double costs as much as the rest of a layer. */

/** Below this, 15 digits, the shortest text of the double is the decimal itself. */
const MAX_EXACT = 1e15;

/** Text of `nanoseconds / 1e6` as ECMAScript prints it; 0 for what is not a time. */
export function millisecondsText(nanoseconds: number): string {
  if (!(nanoseconds > 0 && nanoseconds < Number.POSITIVE_INFINITY)) return "0";
  if (nanoseconds >= MAX_EXACT || !Number.isInteger(nanoseconds)) return String(nanoseconds / 1e6);
  const whole = Math.floor(nanoseconds / 1e6);
  const rest = nanoseconds - whole * 1e6;
  if (rest === 0) return String(whole);
  // One digit more keeps the zeros in front.
  let digits = rest + 1e6;
  while (digits % 10 === 0) digits /= 10;
  return `${whole}.${String(digits).slice(1)}`;
}
