/**
 * What does a fixer buy? The customer look-up with and without one, under the same 500 plans in which the model's
 * arguments are often incomplete. Prints a table; writes a picture to the file that is named, if one is.
 */
import { Evaluation, FaultPlan, ScriptedModel, Subject } from "@recourse/testing"
import { Console, Effect, FileSystem, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"

const ada = { id: "c-1815", name: "Ada Lovelace", email: "ada@example.com" }

/** Looks the missing name up in the program's own data: the caller on the line. It needs no model. */
const callerFixer = Agent.fromFunction("caller", (request: Recovery.FixRequest) =>
  Effect.succeed(
    request.issues.some(({ path }) => path[0] === "name") ? JSON.stringify({ name: ada.name }) : Recovery.declined
  ))

const lookup = Tool.make("crm_lookup", {
  description: "Find a customer by name",
  parameters: Schema.Struct({ name: Schema.String }),
  success: Schema.Struct({ id: Schema.String, name: Schema.String, email: Schema.String }),
  effects: "read",
  timeout: "3 seconds",
  execute: () => Effect.as(Effect.sleep("150 millis"), ada)
})

const declarations = {
  "tell the model": lookup.pipe(
    Tool.onError((call) => call.pipe(Recovery.retry({ times: 2 }), Recovery.escalate("InvalidArgs", "Timeout")))
  ),
  "ask the fixer first": lookup.pipe(
    Tool.onError((call) =>
      call.pipe(
        Recovery.fix("InvalidArgs", callerFixer),
        Recovery.retry({ times: 2 }),
        Recovery.escalate("InvalidArgs", "Timeout")
      )
    )
  )
}

/** A model that needs a second and a half for each answer, and calls again when its call did not fit. */
const model: ScriptedModel.Behaviour = ({ prompt }) => {
  const last = prompt.content.at(-1)
  const found = last?.role === "tool" &&
    last.content.some((part) => part.type === "tool-result" && !part.isFailure)
  return ScriptedModel.delay(
    "1500 millis",
    found ? ScriptedModel.text(ada.email) : ScriptedModel.call("crm_lookup", { name: ada.name })
  )
}

const budget = { turns: 4, toolCalls: 8, duration: "30 seconds" } as const

const subjects = Object.fromEntries(
  Object.entries(declarations).map(([name, tool]) => [
    name,
    Subject.make({
      agent: Agent.make("crm", { tools: [tool], budget }),
      scenarios: { default: { input: "What is Ada's address?", model } }
    })
  ])
)

export const comparison = Evaluation.run({
  title: "What does a fixer buy?",
  seeds: 500,
  subjects,
  plan: (seed) =>
    FaultPlan.make([
      FaultPlan.onTool("crm_lookup", { type: "missing_arguments" }, { times: 20, probability: 0.5 }),
      FaultPlan.onTool("crm_lookup", { type: "timeout" }, { times: 20, probability: 0.1 })
    ], { seed })
})

/** Prints the table and writes the picture. */
export const main = (picture: string | undefined) =>
  Effect.gen(function*() {
    const measured = yield* comparison
    yield* Console.log(Evaluation.table(measured))
    if (picture === undefined) return
    const files = yield* FileSystem.FileSystem
    yield* files.writeFileString(picture, Evaluation.svg(measured))
  })
