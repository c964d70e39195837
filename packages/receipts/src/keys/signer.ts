/** The port of whoever signs heads: a key in a file, in another process, or behind a service. */

/** Signs heads. What it signs is short text; how long it takes delays `flush` and `close`, never a receipt. */
export interface Signer {
  /** `<installation>/toolspan`; heads name `<key name>/<log>` as their origin. */
  readonly keyName: string;
  /** Its public half in the form of C2SP signed-note: what is given to those who verify. */
  readonly verifierKey: string;
  /** The Ed25519 signature over `bytes`, 64 bytes. When it throws, rejects or errs, the head stays unsigned, and that is said. */
  sign(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /** The same before it returns, for the last head of a process that exits; without it such a head stays unsigned. */
  signNow?(bytes: Uint8Array): Uint8Array;
  /** Who signs the log that is opened now; itself where this is absent. */
  forNextLog?(): Signer;
  /** Told when a log that it signed is closed, and in which folder that lies. */
  logClosed?(folder: string): void;
}
