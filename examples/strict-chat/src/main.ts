import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { program } from "./program.ts"

NodeRuntime.runMain(Effect.flatMap(program, (lines) => Console.log(lines.join("\n"))))
