import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/*/test/**/*.test.ts", "test/**/*.test.ts"],
    isolate: false,
    // Tests of real servers and processes wait: one more than the two cores keeps these busy.
    maxWorkers: 3,
    testTimeout: 20_000
  }
})
