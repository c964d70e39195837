/** The leak kit: looks for planted secrets in whatever sinks were given, through the encodings that hide them. */

import { FragmentIndex } from "./fragment-index.ts";
import { LeakError, type LeakFound } from "./leak-error.ts";
import { readTexts } from "./read-texts.ts";
import { formsOf } from "./text-forms.ts";

/** A secret that must turn up nowhere. */
export interface Canary {
  /** What it is, for the message: `GitHub token`. */
  readonly kind: string;
  readonly secret: string;
}

/** Leaks that one error lists. */
const MAX_LEAKS = 20;

/**
 * Throws if a planted secret, or 16 characters in a row of one, stands in what the sinks were given.
 *
 * Looks at texts, keys, numbers, bytes, maps, sets, errors and symbol properties at any depth, as they stand and through
 * base64 (both alphabets, at any offset), percent-encoding and the escapes of JSON, up to three of them in one another. The
 * time is linear in the text, whatever the number of canaries.
 *
 * @param canaries Secrets of at least 8 characters.
 * @param places Sink → everything it was given: texts or objects.
 * @throws LeakError naming place, path, form and kind of each leak, never the secret as a whole.
 * @throws TypeError for a canary that is too short, for no canary, and for a place that holds no text: what nobody looked at is not clean.
 */
export function assertNoLeak(canaries: readonly (string | Canary)[], places: Readonly<Record<string, unknown>>): void {
  const index = new FragmentIndex(canaries.map(toCanary));
  const leaks: LeakFound[] = [];
  const clean = new Set<string>();
  for (const [place, content] of Object.entries(places)) {
    let texts = 0;
    for (const { path, text } of readTexts(content)) {
      texts += 1;
      if (clean.has(text)) continue;
      const leak = findLeak(text, index);
      if (leak === undefined) clean.add(text);
      else leaks.push({ place, path: shownPath(path, index), ...leak });
      if (leaks.length >= MAX_LEAKS) throw new LeakError(leaks);
    }
    if (texts === 0) throw new TypeError(`assertNoLeak: ${place} holds no text; nothing was looked at`);
  }
  if (leaks.length > 0) throw new LeakError(leaks);
}

function toCanary(canary: string | Canary, position: number): Canary {
  return typeof canary === "string" ? { kind: `canary ${position}`, secret: canary } : canary;
}

function findLeak(text: string, index: FragmentIndex): Omit<LeakFound, "place" | "path"> | undefined {
  for (const form of formsOf(text, index.shortest)) {
    const found = index.find(form.text);
    if (found === undefined) continue;
    const { canary, isWhole } = found;
    return { kind: canary.kind, form: form.name, isWhole, length: canary.secret.length };
  }
  return undefined;
}

/** A key on the way may be the secret itself. */
function shownPath(path: readonly string[], index: FragmentIndex): string {
  return path.map((key) => (index.find(key) === undefined ? key.slice(0, 64) : "[a planted secret]")).join(".");
}
