// How the faults run: apart from the other tests, against the packages' sources, with a tally at the end.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const conditions = ["@toolspan/source", "node", "development|production"];

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["@toolspan/source", "node"] } },
  test: {
    include: ["test/faults/**/*.test.ts"],
    globalSetup: ["test/faults/tally-setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["default", "./test/support/closing-line.ts"],
  },
});
