import { defineConfig } from "vitest/config"
import { jobOf } from "./scripts/mutation/job.ts"
import { mutated } from "./scripts/mutation/mutants.ts"

const job = jobOf(process.env)

/** The run of tests in which mutants are switched on one by one: `scripts/mutate.ts` says which. */
export default defineConfig(async () => ({
  plugins: [await mutated(job)],
  test: {
    include: [...job.tests],
    runner: "./scripts/mutation/runner.ts",
    reporters: ["dot"],
    isolate: false,
    fsModuleCache: false,
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 5_000,
    dangerouslyIgnoreUnhandledErrors: true
  }
}))
