// How the tests against the real programs run: one file after the other, each with minutes of time.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const conditions = ["@toolspan/source", "node", "development|production"];

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["@toolspan/source", "node"] } },
  test: {
    include: ["test/e2e/**/*.test.ts"],
    globalSetup: ["./test/e2e/build-packages.ts"],
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    reporters: ["default", "./test/support/closing-line.ts"],
  },
});
