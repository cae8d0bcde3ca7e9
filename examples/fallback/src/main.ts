import { NodeRuntime } from "@effect/platform-node"
import { AgentEvent } from "@recourse/core"
import { Console, Effect } from "effect"
import { program } from "./fallback.ts"

NodeRuntime.runMain(
  Effect.flatMap(
    Effect.provide(program, AgentEvent.layerConsole()),
    ({ first, greetings, second }) =>
      Console.log(["", ...greetings, `asked: the first server ${first} times, the second ${second} times`].join("\n"))
  )
)
