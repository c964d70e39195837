/** Tokens that say by their form what they are, as their issuers document them; what secretlint's rules leave out. */

import type { SecretPattern } from "./secret-rule.ts";

/** Id, the literal texts of which a match holds one, pattern. */
type Row = readonly [id: string, keywords: readonly string[], pattern: string];

const ROWS: readonly Row[] = [
  ["age_key", ["AGE-SECRET-KEY-1"], "AGE-SECRET-KEY-1[0-9A-Z]{58}"],
  ["anthropic_key", ["sk-ant-"], "sk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_-]{32,}"],
  ["atlassian_token", ["ATATT3"], "ATATT3[A-Za-z0-9_=-]{60,}"],
  ["aws_access_key_id", ["AKIA", "ASIA", "ABIA", "ACCA"], "\\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\\b"],
  [
    "azure_key",
    ["AccountKey=", "SharedAccessKey="],
    "(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,100}={0,2})",
  ],
  ["azure_key", ["Q~"], "\\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"],
  ["databricks_token", ["dapi"], "\\bdapi[0-9a-f]{32}(?:-[0-9])?\\b"],
  ["digitalocean_token", ["dop_v1_", "doo_v1_", "dor_v1_"], "\\bdo[opr]_v1_[a-f0-9]{64}"],
  ["discord_webhook", ["/api/webhooks/"], "discord(?:app)?\\.com/api/webhooks/[0-9]{8,}/[A-Za-z0-9_-]{20,}"],
  ["docker_token", ["dckr_pat_", "dckr_oat_"], "\\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"],
  [
    "gitlab_token",
    ["glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glcbt-", "gloas-", "glsoat-", "glagent-", "glimt-"],
    "\\bgl(?:pat|dt|rt|ptt|ft|cbt|oas|soat|agent|imt)-[A-Za-z0-9_-]{20,}",
  ],
  ["google_api_key", ["AIza"], "\\bAIza[0-9A-Za-z_-]{35}"],
  ["google_oauth", ["ya29.", "GOCSPX-"], "\\bya29\\.[0-9A-Za-z_-]{20,}|GOCSPX-[A-Za-z0-9_-]{28}"],
  ["grafana_token", ["glsa_", "glc_"], "\\bglsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|\\bglc_[A-Za-z0-9+/]{32,}={0,2}"],
  ["groq_key", ["gsk_"], "\\bgsk_[A-Za-z0-9]{40,}"],
  ["huggingface_token", ["hf_", "api_org_"], "\\b(?:hf_|api_org_)[A-Za-z0-9]{30,}"],
  ["jwt", ["eyJ"], "\\beyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]*){1,3}"],
  ["langfuse_key", ["sk-lf-"], "\\bsk-lf-[0-9a-f-]{36}"],
  ["mailchimp_key", ["-us"], "\\b[0-9a-f]{32}-us[0-9]{1,2}\\b"],
  ["mailgun_key", ["key-"], "\\bkey-[0-9a-f]{32}\\b"],
  ["newrelic_key", ["NRAK-"], "\\bNRAK-[A-Z0-9]{27}\\b"],
  ["notion_token", ["ntn_"], "\\bntn_[A-Za-z0-9]{40,}"],
  ["openai_key", ["sk-"], "\\bsk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{32,}|\\bsk-[A-Za-z0-9]{32,}"],
  ["postman_key", ["PMAK-"], "\\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}"],
  ["pypi_token", ["pypi-"], "\\bpypi-[A-Za-z0-9_-]{50,}"],
  ["square_token", ["sq0"], "\\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"],
  [
    "stripe_key",
    ["k_live_", "k_test_", "whsec_"],
    "\\b[srp]k_(?:live|test)_[0-9A-Za-z]{16,}|\\bwhsec_[A-Za-z0-9+/]{24,}={0,2}",
  ],
  ["telegram_token", [":AA"], "\\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"],
  ["twilio_key", ["SK"], "\\bSK[0-9a-f]{32}\\b"],
  ["vault_token", ["hvs.", "hvb."], "\\bhv[sb]\\.[A-Za-z0-9_-]{24,}"],
  ["xai_key", ["xai-"], "\\bxai-[A-Za-z0-9]{60,}"],
];

const BODIES: readonly SecretPattern[] = [
  {
    // A key whose end has been cut off is one all the same.
    id: "private_key",
    keywords: ["-----BEGIN"],
    pattern:
      "-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\\s\\\\:,.-]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\\s\\\\]{16,})",
    after: 16_000,
  },
];

export const tokenPatterns: readonly SecretPattern[] = [
  ...ROWS.map(([id, keywords, pattern]) => ({ id, keywords, pattern, before: 64, after: 600 })),
  ...BODIES,
];
