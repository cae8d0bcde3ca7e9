/** Asks the agent one question: `node src/main.ts "Where is my order 8?"`. Prints the timeline of the run. */
import { AgentEvent } from "@recourse/core"
import { Console, Effect } from "effect"
import { Prompt } from "effect/ai"
import { support } from "./agents.ts"
import { Model } from "./model.ts"

const question = process.argv[2] ?? "Where is my order 7?"

const run = support.run(Prompt.make(question)).pipe(
  Effect.flatMap(Console.log),
  Effect.provide([Model, AgentEvent.layerConsole()])
)

await Effect.runPromise(run)
