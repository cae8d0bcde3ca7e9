import { defineConfig } from "vitest/config"

/** Tests of the built site: `pnpm docs:check` builds it first. */
export default defineConfig({ test: { include: ["test/**/*.test.ts"], isolate: false, testTimeout: 60_000, retry: 1 } })
