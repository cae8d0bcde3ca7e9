import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { hostOf } from "./hosts.ts"
import { program } from "./refunds.ts"

NodeRuntime.runMain(
  Effect.flatMap(
    program((line) => process.stdout.write(`${line}\n`), hostOf(process.argv)),
    ({ answer, world }) => Console.log([`the agent: ${answer}`, `done in the world, once each:`, ...world].join("\n  "))
  )
)
