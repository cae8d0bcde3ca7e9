/** Options of Stryker, which `scripts/mutate.ts` runs. @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "vitest.mutate.config.ts", related: false },
  // TypeScript 7 has no JavaScript API, which Stryker would rewrite tsconfig.json with.
  tsconfigFile: "none.json",
  coverageAnalysis: "perTest",
  concurrency: 2,
  // Text of a message is not a rule; tests of texts hold the ones that are.
  mutator: { excludedMutations: ["StringLiteral"] },
  reporters: ["progress", "json"],
  jsonReporter: { fileName: "reports/mutation.json" },
  ignorePatterns: ["benchmarks", "**/dist", "reports"]
}
