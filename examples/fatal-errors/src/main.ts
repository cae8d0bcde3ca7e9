import { NodeRuntime } from "@effect/platform-node"
import { AgentEvent } from "@recourse/core"
import { Console, Effect } from "effect"
import { program } from "./program.ts"

NodeRuntime.runMain(
  Effect.flatMap(
    Effect.provide(program, AgentEvent.layerConsole()),
    (paragraphs) => Console.log(["", ...paragraphs].join("\n\n"))
  )
)
