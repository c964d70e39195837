/** What may be asked of the verifier. */

export interface VerifyOptions {
  /** Accepts logs without a closing line that have at most this many lines beyond their last head, integer >= 0. */
  readonly allowOpen?: number;
  /** Also derives each line anew, with an implementation that no writer uses. */
  readonly strict?: boolean;
  /** Verifier key (C2SP signed-note), or path of a file with one, or of a policy file `{ keys, rotation, revoked }`: asks who wrote the log. */
  readonly trust?: string;
  /** Files of heads that were kept where the writer cannot reach them: checkpoint texts, or the Collector's OTLP/JSON lines. Asks whether the logs still are what they vouch for. */
  readonly anchors?: string | readonly string[];
  /** Threads that share the work where there are more than a few megabytes, 1 to 64; default 2, or 1 where the machine has one. The report is the same. */
  readonly workers?: number;
  /** Called now and then while it runs. */
  readonly onProgress?: (progress: VerifyProgress) => void;
}

export interface VerifyProgress {
  readonly bytes: number;
  readonly totalBytes: number;
  readonly logs: number;
  readonly totalLogs: number;
}
