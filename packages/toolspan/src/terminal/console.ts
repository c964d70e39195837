/** Where a command writes: standard output for what was asked, standard error for everything else. */

import { ansiPaint, noPaint, type Paint } from "./paint.ts";

/** A place to write to. */
export interface Screen {
  write(text: string): void;
  /** True where a person looks at it as it happens. */
  readonly live: boolean;
  readonly columns: number;
  readonly paint: Paint;
}

export interface Console {
  readonly out: Screen;
  readonly err: Screen;
}

const DEFAULT_COLUMNS = 100;

/** The streams of this process; `NO_COLOR` and `TERM=dumb` are honoured. */
export function processConsole(): Console {
  return { out: screenOf(process.stdout), err: screenOf(process.stderr) };
}

function screenOf(stream: NodeJS.WriteStream): Screen {
  const dumb = process.env.TERM === "dumb";
  const live = stream.isTTY === true && !dumb;
  const coloured = live && (process.env.NO_COLOR ?? "") === "";
  return {
    write: (text) => void stream.write(text),
    live,
    columns: live ? Math.max(40, stream.columns || DEFAULT_COLUMNS) : DEFAULT_COLUMNS,
    paint: coloured ? ansiPaint : noPaint,
  };
}

/** `toolspan demo | head` closes our output early: nobody is left to tell, so the process ends quietly. */
export function endQuietlyWhenUnread(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(process.exitCode);
  });
}
