/**
 * The patterns of secretlint's recommended rules, read out of the package.
 *
 * Its rules are code that hands regular expressions to `content.matchAll`. Each rule runs once, here, on a content that
 * keeps the expressions it is handed; they then run on a linear-time engine, which needs three things rewritten.
 */

import { rules } from "@secretlint/secretlint-rule-preset-recommend";
import type { SecretPattern } from "./secret-rule.ts";

interface Placed {
  readonly id: string;
  readonly keywords: readonly string[];
  readonly also?: string;
  readonly before?: number;
  readonly after?: number;
  readonly group?: number;
}

const PREFIX = "@secretlint/secretlint-rule-";

/** Package rule → our id, the literal texts of which a match holds one, and its reach. */
const PLACES: Readonly<Record<string, Placed>> = {
  "1password": { id: "onepassword_token", keywords: ["ops_ey"], after: 1400 },
  anthropic: { id: "anthropic_key", keywords: ["sk-ant-"] },
  aws: { id: "aws_secret_key", keywords: ["SECRET", "secret", "Secret"], after: 128, group: 1 },
  basicauth: { id: "url_user_info", keywords: ["://"], also: "@", after: 1024 },
  "database-connection-string": { id: "url_user_info", keywords: ["://"], also: "@", after: 1024 },
  github: { id: "github_token", keywords: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"] },
  linear: { id: "linear_key", keywords: ["lin_api_"] },
  npm: { id: "npm_token", keywords: ["npm_"] },
  openai: { id: "openai_key", keywords: ["sk-"] },
  privatekey: { id: "private_key", keywords: ["-----BEGIN"], after: 16_000 },
  sendgrid: { id: "sendgrid_key", keywords: ["SG."] },
  shopify: { id: "shopify_token", keywords: ["shppa_", "shpca_", "shpat_", "shpss_"] },
  slack: { id: "slack_token", keywords: ["xox", "xapp-", "hooks.slack.com"] },
};

const FLAGS = ["i", "m", "s"] as const;

/** All patterns of the package that stand in the table above. */
export const secretlintPatterns: readonly SecretPattern[] = rules.flatMap((rule) => {
  const place = PLACES[rule.meta.id.replace(PREFIX, "")];
  return place === undefined ? [] : expressionsOf(rule).map((pattern) => ({ ...place, pattern: toRe2(pattern) }));
});

/** Runs a rule on a content that notes what it is searched for. */
function expressionsOf(rule: (typeof rules)[number]): readonly RegExp[] {
  const expressions: RegExp[] = [];
  const content = {
    length: 0,
    matchAll(expression: RegExp): Iterable<never> {
      expressions.push(expression);
      return [];
    },
  };
  const context = { createTranslator: () => () => ({}), report() {}, ignore() {}, sharedOptions: {} };
  const running = rule.create(context as never, {});
  void running.file?.({ content, filePath: "a.txt", ext: ".txt", contentType: "text" } as never);
  return expressions;
}

/** The same expression in RE2 syntax: no look-around at its ends (a mask may be too wide), no count over 1,000. */
function toRe2({ source, flags }: RegExp): string {
  const pattern = source
    .replace(/^\(\?<!\\p\{L\}\)/, "")
    .replace(/\(\?![^()]*\)$/, "")
    .replace(/\{(\d+),\d{4,}\}/g, "{$1,}");
  const kept = FLAGS.filter((flag) => flags.includes(flag)).join("");
  return kept === "" ? pattern : `(?${kept})${pattern}`;
}
