/** The README of the durable example, which kills its processes and starts them again. */
import { it } from "@effect/vitest"
import { runReadme } from "./exampleReadmes.ts"

// The commands are for sh.
it.skipIf(process.platform === "win32")(
  "the README of durable-refunds runs as it is shown",
  () => runReadme("durable-refunds", 4985),
  120_000
)
