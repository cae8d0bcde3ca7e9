/** A process that runs the agent: `node worker.ts <directory> --host sql|cluster`. It may be killed at any time, and any number of them may run. */
import { NodeRuntime } from "@effect/platform-node"
import { AgentEvent } from "@recourse/core"
import { Durable } from "@recourse/durable"
import { Effect, Layer, References } from "effect"
import { join } from "node:path"
import { hosted, hostOf } from "./hosts.ts"
import { office } from "./office.ts"

const directory = process.argv[2] ?? "."
const { Refunds, model } = office(join(directory, "world.log"))

NodeRuntime.runMain(
  Effect.never.pipe(
    Effect.provide(
      Durable.layer([Refunds], { lease: "1 second", poll: "100 millis" }).pipe(
        Layer.provide([
          model,
          hosted(hostOf(process.argv), join(directory, "runs.db"), "worker"),
          AgentEvent.layerConsole()
        ])
      )
    ),
    // Standard output is the external world.
    Effect.provideService(References.LogToStderr, true)
  )
)
