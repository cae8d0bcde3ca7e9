/** `pnpm --filter @recourse/benchmarks run bench:page`: makes the page again from the published results. */
import { readFileSync } from "node:fs"
import { publish } from "./publish.ts"
import type { Results } from "./Results.ts"

publish(JSON.parse(readFileSync(new URL("../../docs/benchmark-results.json", import.meta.url), "utf8")) as Results)
