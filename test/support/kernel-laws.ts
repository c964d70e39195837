// The laws of the kernel as data, so that they can be held against any copy of it, a sabotaged one too.
import type { Law } from "./law.ts";
import { BOUNDARY_LAWS } from "./laws/boundary.ts";
import { COMPOSITION_LAWS } from "./laws/composition.ts";
import { END_LAWS } from "./laws/ends.ts";
import { STREAM_LAWS } from "./laws/streams.ts";
import { TERMINAL_LAWS } from "./laws/terminal.ts";

export const KERNEL_LAWS: readonly Law[] = [
  ...COMPOSITION_LAWS,
  ...BOUNDARY_LAWS,
  ...TERMINAL_LAWS,
  ...END_LAWS,
  ...STREAM_LAWS,
];
