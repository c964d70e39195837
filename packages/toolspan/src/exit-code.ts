/** What the command says by its exit code; `docs/command-line.md` and `--help` print this table. */

export const EXIT = {
  /** What was asked holds. */
  ok: 0,
  /** Damage, a contradiction, or a run or line that could not be replayed. */
  failed: 1,
  /** Nothing contradicts, but there is not enough to say that it holds. */
  unknown: 2,
  /** A command, option or path that makes no sense. */
  usage: 64,
  /** A fault of the command itself. */
  internal: 70,
  /** Stopped by SIGINT; what was written is closed. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
