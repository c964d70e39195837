// A folder for the time of one test.
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export function stateFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "toolspan-faults-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
