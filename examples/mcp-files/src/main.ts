import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { program } from "./program.ts"

NodeRuntime.runMain(
  program(!process.argv.includes("--refuse")).pipe(
    Effect.flatMap((lines) => Console.log(lines.join("\n"))),
    Effect.provide(NodeServices.layer)
  )
)
