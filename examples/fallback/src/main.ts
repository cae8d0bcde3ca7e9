import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { program } from "./fallback.ts"

NodeRuntime.runMain(
  Effect.flatMap(
    program,
    ({ first, greetings, second }) =>
      Console.log([...greetings, `asked: the first server ${first} times, the second ${second} times`].join("\n"))
  )
)
