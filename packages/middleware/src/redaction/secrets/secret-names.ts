/** Names under which secrets stand: as keys, as headers, in assignments. Compared without case and separators. */

/** A name as it is compared: lower case, no separators. */
export function foldName(name: string): string {
  return name.toLowerCase().replace(/[-_.\s]/g, "");
}

/** Whatever stands under a name that ends so is a secret. */
const CERTAIN = [
  "password",
  "passwd",
  "pwd",
  "passphrase",
  "passcode",
  "secret",
  "apikey",
  "accesskey",
  "secretkey",
  "privatekey",
  "signingkey",
  "encryptionkey",
  "accesstoken",
  "refreshtoken",
  "idtoken",
  "authtoken",
  "bearertoken",
  "sessiontoken",
  "authorization",
  "cookie",
  "connectionstring",
  "cvv",
  "cvc",
];

/** What stands under `pass` when it is no password. */
const VERDICTS = /^(?:true|false|yes|no|ok|none|pass(?:ed)?|fail(?:ed)?)$/i;

/** True for `pass`, `DB_PASS`, `dbPass`; not for `bypass` and `compass`. */
export function isPassName(name: string): boolean {
  return /(?:^|[^A-Za-z0-9])(?:pass|Pass|PASS)$|[a-z0-9]Pass$/.test(name);
}

/** Under a name that ends so a secret may stand: it is one if it looks random. */
const LIKELY = ["token", "credential", "credentials", "sessionid", "signature", "auth", "otp", "sid"];

/** Names of secrets that are made of digits. */
const NUMERIC = ["password", "passwd", "pwd", "passcode", "pin", "cvv", "cvc", "otp"];

/** Positions in lists and streams, which models have to hand back. */
const CURSORS = ["pagetoken", "nexttoken", "continuationtoken", "synctoken", "starttoken"];

const HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "proxyauthorization",
  "cookie",
  "setcookie",
  "xapikey",
  "xauthtoken",
  "xaccesstoken",
  "xcsrftoken",
  "xamzsecuritytoken",
]);

/** True where `value` under `name` is a secret. */
export function isSecretUnder(name: string, value: string | number | bigint): boolean {
  if (value === "" || name.length > 256) return false;
  const folded = foldName(name);
  if (typeof value !== "string") return NUMERIC.some((ending) => folded.endsWith(ending));
  if (CERTAIN.some((ending) => folded.endsWith(ending))) return true;
  if (isPassName(name)) return !VERDICTS.test(value);
  if (!LIKELY.some((ending) => folded.endsWith(ending)) || CURSORS.some((ending) => folded.endsWith(ending)))
    return false;
  return looksRandom(value, 12);
}

/** True for the name of a header whose value is a secret. */
export function isSecretHeader(name: string): boolean {
  return name.length < 64 && HEADERS.has(foldName(name));
}

/** One word with letters and digits in it, of at least `length` characters. */
export function looksRandom(value: string, length: number): boolean {
  return value.length >= length && /\d/.test(value) && /[A-Za-z]/.test(value) && !/\s/.test(value);
}
