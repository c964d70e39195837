// The leg's own settings: no source condition, so the tests meet what npm installed.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/telemetry/**/*.test.ts"],
    setupFiles: ["./assert-line.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    reporters: ["default", "./test/support/closing-line.ts", ["json", { outputFile: "outcome.json" }]],
  },
});
