// Made-up secrets of 20 kinds, the same ones on every run, and the rule that knows each kind.
import { Buffer } from "node:buffer";

export interface PlantedSecret {
  readonly kind: string;
  /** Id of the rule without which this kind is not seen. */
  readonly rule: string;
  /** How it is written down. */
  readonly text: string;
  /** What must not be found anywhere. */
  readonly secret: string;
}

const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER = UPPER.toLowerCase();
const DIGITS = "0123456789";
const HEX = `${DIGITS}abcdef`;
const ALNUM = UPPER + LOWER + DIGITS;
const BASE64 = `${ALNUM}+/`;

type Pick = (alphabet: string, length: number) => string;
type Maker = (pick: Pick) => string | { readonly text: string; readonly secret: string };

const KINDS: readonly (readonly [kind: string, rule: string, make: Maker])[] = [
  ["AWS access key id", "aws_access_key_id", (pick) => `AKIA${pick(`${UPPER}234567`, 16)}`],
  ["GitHub token", "github_token", (pick) => `ghp_${pick(ALNUM, 36)}`],
  ["GitLab token", "gitlab_token", (pick) => `glpat-${pick(ALNUM, 20)}`],
  ["Slack bot token", "slack_token", (pick) => `xoxb-${pick(DIGITS, 12)}-${pick(DIGITS, 12)}-${pick(ALNUM, 24)}`],
  ["Stripe live key", "stripe_key", (pick) => `sk_live_${pick(ALNUM, 24)}`],
  ["Google API key", "google_api_key", (pick) => `AIza${pick(`${ALNUM}_-`, 35)}`],
  ["OpenAI key", "openai_key", (pick) => `sk-proj-${pick(ALNUM, 74)}T3BlbkFJ${pick(ALNUM, 74)}`],
  ["Anthropic key", "anthropic_key", (pick) => `sk-ant-api03-${pick(`${ALNUM}_-`, 93)}AA`],
  ["npm token", "npm_token", (pick) => `npm_${pick(ALNUM, 36)}`],
  ["PyPI token", "pypi_token", (pick) => `pypi-AgEIcHlwaS5vcmc${pick(`${ALNUM}_-`, 60)}`],
  ["SendGrid key", "sendgrid_key", (pick) => `SG.${pick(ALNUM, 22)}.${pick(ALNUM, 43)}`],
  ["Twilio key", "twilio_key", (pick) => `SK${pick(HEX, 32)}`],
  ["Hugging Face token", "huggingface_token", (pick) => `hf_${pick(ALNUM, 34)}`],
  ["DigitalOcean token", "digitalocean_token", (pick) => `dop_v1_${pick(HEX, 64)}`],
  ["Azure storage key", "azure_key", (pick) => in_(`AccountName=a;AccountKey=`, `${pick(BASE64, 86)}==`)],
  ["private key", "private_key", (pick) => pem(pick)],
  ["JSON web token", "jwt", (pick) => jwt(pick)],
  ["card number", "card_number", (pick) => card(`4${pick(DIGITS, 14)}`)],
  ["password in a URL", "url_user_info", (pick) => in_("ftp://deploy:", pick(ALNUM, 16), "@files.example.net/a")],
  ["bearer header", "authorization", (pick) => in_("Authorization: Bearer ", `9${pick(ALNUM, 31)}`)],
];

/** Kinds of secrets and their rules, in order. */
export const secretKinds: readonly { readonly kind: string; readonly rule: string }[] = KINDS.map(([kind, rule]) => ({
  kind,
  rule,
}));

/** `perKind` secrets of each kind, kind after kind; the same for the same seed. */
export function plantedSecrets(perKind: number, seed = 1): readonly PlantedSecret[] {
  const pick = pickerOf(seed);
  return KINDS.flatMap(([kind, rule, make]) =>
    Array.from({ length: perKind }, () => {
      const made = make(pick);
      return { kind, rule, ...(typeof made === "string" ? { text: made, secret: made } : made) };
    }),
  );
}

/** Numerical Recipes' linear congruence: repeatable, and nothing here has to be unpredictable. */
export function pickerOf(seed: number): Pick {
  let state = seed >>> 0;
  return (alphabet, length) =>
    Array.from({ length }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return alphabet.charAt(Math.floor((state / 2 ** 32) * alphabet.length));
    }).join("");
}

function in_(before: string, secret: string, after = ""): { readonly text: string; readonly secret: string } {
  return { text: before + secret + after, secret };
}

function pem(pick: Pick): { readonly text: string; readonly secret: string } {
  const lines = Array.from({ length: 4 }, () => pick(BASE64, 64));
  const text = `-----BEGIN RSA PRIVATE KEY-----\n${lines.join("\n")}\n-----END RSA PRIVATE KEY-----`;
  return { text, secret: lines[1] as string };
}

function jwt(pick: Pick): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: pick(ALNUM, 12), iat: 1 })}.${pick(`${ALNUM}_-`, 43)}`;
}

/** The digits with their check digit, as on a card: in groups of four. */
function card(digits: string): string {
  const sum = [...digits].reverse().reduce((total, digit, i) => {
    const value = Number(digit) * (i % 2 === 0 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}
