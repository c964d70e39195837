// How the tests run: against the packages' sources, two workers, one closing line.
import { defineConfig } from "vitest/config";

// Without "module": packages that carry a bundler's build under that name are loaded as Node itself would load them.
const conditions = ["@toolspan/source", "node", "development|production"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["@toolspan/source", "node"] } },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/otel3/**", "test/node24/**", "test/e2e/**", "test/faults/**"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    reporters: ["default", "./test/support/closing-line.ts"],
    coverage: { provider: "v8", include: ["packages/*/src/**/*.ts"] },
  },
});
