// A vitest reporter that names what was skipped and ends the run with "N passed, N failed, N skipped".
import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";

interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

/** Counts tests by their state; a file that could not be collected, and an error outside tests, count as one failure each. */
function count(modules: readonly TestModule[], unhandled: number): Outcome {
  let passed = 0;
  let failed = unhandled;
  const skipped: string[] = [];
  for (const module of modules) {
    failed += module.errors().length;
    for (const test of module.children.allTests()) {
      const result = test.result();
      if (result.state === "passed") passed += 1;
      else if (result.state === "failed") failed += 1;
      else skipped.push(`${test.fullName}${result.state === "skipped" && result.note ? ` (${result.note})` : ""}`);
    }
  }
  return { passed, failed, skipped };
}

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[], reason: TestRunEndReason): void {
    const { passed, failed, skipped } = count(modules, unhandled.length);
    const broken = reason === "failed" && failed === 0 ? 1 : failed;
    const names = skipped.map((name) => `skipped: ${name}\n`).join("");
    const line = `${names}${passed} passed, ${broken} failed, ${skipped.length} skipped\n`;
    // The default reporter prints its summary in the same hook; the last word is printed when the process leaves.
    process.once("exit", () => process.stdout.write(line));
  }
}
