/** User info in URLs of any scheme: what stands between `://` and the last `@` before the path. */

import type { SecretRule, Span } from "./secret-rule.ts";

const MAX_AUTHORITY = 2048;
const AUTHORITY_END = /[\s/?#"'`<>|{}]/;

export const urlPasswordRule: SecretRule = {
  id: "url_user_info",
  keywords: ["://"],
  find(text, at, tick) {
    const spans: Span[] = [];
    for (const position of at) {
      tick();
      const start = position + 3;
      let last = -1;
      let colon = -1;
      for (let i = start; i < text.length && i - start < MAX_AUTHORITY; i += 1) {
        const character = text.charAt(i);
        if (AUTHORITY_END.test(character)) break;
        if (character === "@") last = i;
        else if (character === ":" && colon === -1) colon = i;
      }
      if (colon !== -1 && colon < last - 1) spans.push({ start, end: last });
    }
    return spans;
  },
};
