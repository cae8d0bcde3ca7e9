import { defineConfig } from "vitest/config"

/** The tests that mutants are run against: one package's, or some of them, as `scripts/mutate.ts` says. */
export default defineConfig({
  test: {
    include: (process.env["MUTATE_TESTS"] ?? "packages/core/test/**/*.test.ts").split(","),
    // They look at compiled declarations or at packages, which no mutant changes.
    exclude: ["**/shownTypes.test.ts", "**/layout.test.ts"],
    isolate: false,
    testTimeout: 10_000
  }
})
