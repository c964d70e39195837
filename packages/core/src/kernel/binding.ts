/** A decision's hold on the arguments it was made about: what comes out at the terminal must be what was judged. */

import type { RewritesArgs } from "../ports/layer.ts";

/** Compares arguments; null for those without a canonical form: they compare by identity, if no layer may change them. */
export type ArgsDigest = (args: unknown) => string | null;

/** What a decision holds on to; `isVoid` once something has changed that was not allowed to. */
export interface ArgsBinding {
  readonly digest: ArgsDigest;
  readonly value: string | null;
  readonly args: unknown;
  /** True when every layer declares that it leaves the arguments object as it is: only then does identity say anything. */
  readonly keepsArgs: boolean;
  readonly isVoid: boolean;
  /** An outer decision, which may compare in another way: all of them have to hold. */
  readonly outer: ArgsBinding | null;
}

/** Binds to `args`, in addition to what outer decisions hold on to. */
export function bindTo(args: unknown, digest: ArgsDigest, outer: ArgsBinding | null, keepsArgs: boolean): ArgsBinding {
  return { digest, value: digest(args), args, keepsArgs, isVoid: false, outer };
}

/** True while `args` are what was judged. Digested anew each time, so a change in place is seen. */
export function holds(binding: ArgsBinding, args: unknown): boolean {
  if (binding.isVoid || (binding.outer !== null && !holds(binding.outer, args))) return false;
  const value = binding.digest(args);
  if (value !== null && binding.value !== null) return value === binding.value;
  return binding.keepsArgs && value === binding.value && Object.is(args, binding.args);
}

/** The binding behind a layer that passes `after` on for `before`: its own field and masks are allowed to differ. */
export function carryBinding(
  binding: ArgsBinding | null,
  rewrites: RewritesArgs | undefined,
  before: unknown,
  after: unknown,
): ArgsBinding | null {
  if (binding === null || before === after || (rewrites !== "own_field" && rewrites !== "mask")) return binding;
  return rebind(binding, before, after);
}

function rebind({ outer, ...binding }: ArgsBinding, before: unknown, after: unknown): ArgsBinding {
  const isVoid = !holds({ ...binding, outer: null }, before);
  const carried = outer === null ? null : rebind(outer, before, after);
  return { ...bindTo(after, binding.digest, carried, binding.keepsArgs), isVoid };
}
