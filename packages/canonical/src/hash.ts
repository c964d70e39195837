/** Hashes of canonical text; needs `node:crypto`. */
export { type CommittedHasherOptions, committedHasher, opensCommitment } from "./committed-hasher.ts";
export type { Digest, HashDomain, Hasher, HashMode, SequenceDigest } from "./hasher.ts";
export { plainDigest } from "./hashing.ts";
export { type KeyedHasherOptions, keyedHasher } from "./keyed-hasher.ts";
export { type PlainHasherOptions, plainHasher } from "./plain-hasher.ts";
export { sha256Text } from "./sha256.ts";
