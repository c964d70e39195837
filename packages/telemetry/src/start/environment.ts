/** Reading environment variables as OpenTelemetry defines their values. */

/** Variable name to value. `process.env` unless a caller passes its own. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The process's variables; none where there is no process. */
export function processEnvironment(): Environment {
  return (globalThis as { process?: { env?: Environment } }).process?.env ?? {};
}

/** The value without surrounding blanks; an empty one counts as unset. */
export function readText(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === undefined || value === "" ? undefined : value;
}

/** True only for `true`, in any case. @source OpenTelemetry specification, "Environment Variable Specification", Boolean. */
export function readFlag(env: Environment, name: string): boolean {
  return readText(env, name)?.toLowerCase() === "true";
}

/** `TOOLSPAN_*` switches: anything but `0`, `false`, `no`, `off` and the empty string is on. */
export function readSwitch(env: Environment, name: string): boolean {
  const value = readText(env, name)?.toLowerCase();
  return value !== undefined && !["0", "false", "no", "off"].includes(value);
}

/** A finite number of at least `least`; anything else counts as unset. */
export function readNumber(env: Environment, name: string, least = 0): number | undefined {
  const text = readText(env, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  return Number.isFinite(value) && value >= least ? value : undefined;
}

/** `a=1,b=2` with percent-encoded values, as headers and resource attributes are written. */
export function readPairs(env: Environment, name: string): Readonly<Record<string, string>> {
  const pairs = (readText(env, name) ?? "").split(",").flatMap((pair) => {
    const at = pair.indexOf("=");
    const key = pair.slice(0, at).trim();
    return at < 1 || key === "" ? [] : [[decode(key), decode(pair.slice(at + 1).trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not percent-encoded after all
  }
}
