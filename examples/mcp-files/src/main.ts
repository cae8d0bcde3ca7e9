import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { AgentEvent } from "@recourse/core"
import { Console, Effect } from "effect"
import { program } from "./program.ts"

NodeRuntime.runMain(
  program(!process.argv.includes("--refuse")).pipe(
    Effect.provide(AgentEvent.layerConsole()),
    Effect.flatMap((lines) => Console.log(["", ...lines].join("\n"))),
    Effect.provide(NodeServices.layer)
  )
)
