import { hash } from "node:crypto"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Tests that wait for processes, servers and pages, or that compute for a minute: what begins last with them keeps everybody waiting. */
const long =
  /\/test\/(?:stores|durable|types|guides|browser)\/|\/(?:laws|programs|brokenLaws|defaultPlans|callbackFaults|world|mcp|bugs|compositions|compare|compensationA\w+|conformance|desk|docs-faults|guarded|keyCounter|negotiation|packageFiles|redaction|refunds|src-Laws|structure|template|visits|waits|killedServers|command|killedCommand|replayCommand|chat|office)\.test\.ts$/

class LongFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const { seed, shuffle } = this.ctx.config.sequence
    if (shuffle !== undefined && shuffle !== false) {
      const place = ({ moduleId }: TestSpecification): string => hash("sha256", `${seed} ${moduleId}`)
      return files.toSorted((a, b) => place(a) < place(b) ? -1 : 1)
    }
    const sorted = await super.sort(files)
    return [
      ...sorted.filter(({ moduleId }) => long.test(moduleId)),
      ...sorted.filter(({ moduleId }) => !long.test(moduleId))
    ]
  }
}

export default defineConfig({
  test: {
    include: [
      "docs/playground/test/*.test.ts",
      "packages/*/test/**/*.test.ts",
      "examples/*/test/**/*.test.ts",
      "test/**/*.test.ts"
    ],
    globalSetup: ["packages/studio/test/support/pages.ts", "test/support/seed.ts"],
    isolate: false,
    // Drawn programs make much that is soon garbage: a tenth less time. Most code runs too seldom to be optimized.
    execArgv: ["--max-semi-space-size=64", "--always-sparkplug"],
    env: {
      // Processes that tests start: they load in half the time.
      NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/node", import.meta.url)),
      // Each run draws other plans and programs, and interrupts at other operations.
      RECOURSE_SEED: process.env["RECOURSE_SEED"] ?? String(Math.floor(Math.random() * 1_000_000))
    },
    sequence: { sequencer: LongFirst },
    // Tests of real servers and processes wait: two more than the two cores keep these busy.
    maxWorkers: 4,
    // Servers, processes and pages share two cores with all other tests, and some are late: what fails is run once more before it
    // has failed. Virtual time and drawn programs are the same both times.
    retry: 1,
    testTimeout: 60_000
  }
})
