/** What a check of `doctor` says. */

export interface Finding {
  /** Which check speaks: `api_copies`, `provider`, `resource`, `collector`, `receipts_endpoint`, `state_folder`, `disk`, `clock`. */
  readonly check: string;
  /** `unknown`: there was nothing to look at, which is no fault. */
  readonly status: "ok" | "unknown" | "warning" | "problem";
  /** One line: what was found, and what to do about it. */
  readonly message: string;
}

/** What the checks go by. */
export interface Patient {
  /** Where the program lives: its `node_modules` are looked at from here upward. */
  readonly project: string;
  readonly stateFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Module that sets up telemetry, if one was named. */
  readonly module: string | undefined;
  /** OTLP/HTTP base address, if one was named. */
  readonly endpoint: string | undefined;
  /** Longest wait for anything outside this process, milliseconds. */
  readonly timeoutMs: number;
}

/** A variable of the environment; an empty one counts as unset. */
export function variable({ env }: Pick<Patient, "env">, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === "" ? undefined : value;
}
