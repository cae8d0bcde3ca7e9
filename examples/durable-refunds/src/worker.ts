/** A process that runs the agent: `node worker.ts <directory>`. It may be killed at any time, and any number of them may run. */
import { NodeRuntime } from "@effect/platform-node"
import { Durable } from "@recourse/durable"
import { Effect, Layer } from "effect"
import { join } from "node:path"
import { office, stores } from "./office.ts"

const directory = process.argv[2] ?? "."
const { Refunds, model } = office(join(directory, "world.log"))

NodeRuntime.runMain(
  Effect.scoped(
    Effect.provide(
      Effect.never,
      Durable.layer([Refunds], { lease: "1 second", poll: "100 millis" }).pipe(
        Layer.provide([model, stores(join(directory, "runs.db"))])
      )
    )
  )
)
