/** Colours, where a terminal wants them; elsewhere the same words without. */

import { styleText } from "node:util";

export interface Paint {
  readonly strong: (text: string) => string;
  readonly faint: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warn: (text: string) => string;
}

const plain = (text: string): string => text;

export const noPaint: Paint = { strong: plain, faint: plain, good: plain, bad: plain, warn: plain };

export const ansiPaint: Paint = {
  strong: (text) => styleText("bold", text),
  faint: (text) => styleText("dim", text),
  good: (text) => styleText("green", text),
  bad: (text) => styleText("red", text),
  warn: (text) => styleText("yellow", text),
};
