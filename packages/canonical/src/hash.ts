/** Hashes of canonical text; needs `node:crypto`. */
export type { Digest, Hasher, HashMode, SequenceDigest } from "./hasher.ts";
export { type PlainHasherOptions, plainDigest, plainHasher } from "./plain-hasher.ts";
export { sha256Text } from "./sha256.ts";
