/** Credentials in headers that stand in running text: `Authorization: Basic …`, `Bearer …`, cookies. */

import { patternRule } from "./pattern-rule.ts";
import type { SecretRule } from "./secret-rule.ts";

const CREDENTIAL = "(?P<secret>[A-Za-z0-9+/=._~-]{8,})";

export const headerRule: SecretRule = patternRule("authorization", [
  {
    id: "authorization",
    keywords: ["uthorization", "UTHORIZATION"],
    pattern: `(?i)authorization\\\\*["']?\\s*[:=,]\\s*\\\\*["']?(?:(?:basic|bearer|token|apikey|digest|negotiate)\\s+)?${CREDENTIAL}`,
    after: 8192,
  },
  {
    // At least one digit or padding: prose has neither.
    id: "authorization",
    keywords: ["earer ", "EARER "],
    pattern: "(?i)\\bbearer\\s+(?P<secret>[A-Za-z0-9+/._~-]*[0-9=][A-Za-z0-9+/=._~-]{7,})",
    after: 8192,
  },
  {
    id: "authorization",
    keywords: ["ookie:", "OOKIE:"],
    pattern: "(?i)cookie:[ \\t]*(?P<secret>[^\\s;=]{1,128}=[^\\r\\n\"'\\\\]{4,})",
    after: 8192,
  },
]);
