/** Rules made of patterns: compiled by a linear-time engine, when first needed, and tried around their keywords only. */

import { RE2JS } from "re2js";
import type { SecretPattern, SecretRule, Span } from "./secret-rule.ts";

/** Longest stretch that is matched at once: between two of them the clock is read. */
const MAX_WINDOW = 16_384;
const DEFAULT_BEFORE = 64;
const DEFAULT_AFTER = 512;

/** A rule that masks what any of its patterns matches. */
export function patternRule(id: string, patterns: readonly SecretPattern[]): SecretRule {
  const compiled = patterns.map(compileWhenNeeded);
  const keywords = [...new Set(patterns.flatMap((pattern) => pattern.keywords))];
  const before = Math.max(...patterns.map((pattern) => pattern.before ?? DEFAULT_BEFORE));
  const after = Math.max(...patterns.map((pattern) => pattern.after ?? DEFAULT_AFTER));
  return {
    id,
    keywords,
    find(text, at, tick) {
      const spans: Span[] = [];
      for (const window of windowsAround(text, at, before, after)) {
        const part = text.slice(window.start, window.end);
        for (const { engine, group, also } of compiled) {
          tick();
          if (also !== undefined && !part.includes(also)) continue;
          for (const match of engine().matchAll(part)) {
            spans.push(spanOf(text, match, window.start, group));
            tick();
          }
        }
      }
      return spans;
    },
  };
}

interface Compiled {
  engine(): RE2JS;
  readonly group: number | undefined;
  readonly also: string | undefined;
}

function compileWhenNeeded({ pattern, group, also }: SecretPattern): Compiled {
  let engine: RE2JS | undefined;
  return {
    group,
    also,
    engine() {
      engine ??= RE2JS.compile(pattern);
      return engine;
    },
  };
}

/** Windows around the keywords; those that touch are one, as far as one may be long. Neighbours overlap. */
function windowsAround(text: string, at: readonly number[], before: number, after: number): readonly Span[] {
  const windows: Span[] = [];
  for (const position of at) {
    const start = Math.max(0, position - before);
    const end = Math.min(text.length, position + after);
    const last = windows.at(-1);
    if (last !== undefined && start <= last.end && end - last.start <= MAX_WINDOW) {
      windows[windows.length - 1] = { start: last.start, end };
    } else if (last === undefined || end > last.end) {
      windows.push({ start, end });
    }
  }
  return windows;
}

const WORD = /[A-Za-z0-9_-]/;

/** The part that is the secret, else the match up to the end of its token: what follows it belongs to the secret. */
function spanOf(text: string, match: RegExpMatchArray, offset: number, group: number | undefined): Span {
  const start = offset + (match.index ?? 0);
  const part = group === undefined ? (match.groups?.secret ?? match.groups?.password) : match[group];
  if (part !== undefined && part !== "") {
    const from = start + match[0].lastIndexOf(part);
    return { start: from, end: from + part.length };
  }
  let end = start + match[0].length;
  while (end < text.length && WORD.test(text.charAt(end))) end += 1;
  return { start, end };
}
