/** An agent that counts the keys of an object, a tool that is strict about JSON, and a fixer that may not fix alone. */
import { Data, Effect, Predicate, Schedule, Schema } from "effect"
import { Agent, ModelError, Recovery, Tool } from "@recourse/core"

/** The text is not JSON, or not an object. */
export class NotAnObject extends Data.TaggedError("NotAnObject") {}

const countKeys = (text: string): Effect.Effect<number, NotAnObject> =>
  Effect.try({ try: (): unknown => JSON.parse(text), catch: () => new NotAnObject() }).pipe(
    Effect.filterOrFail(Predicate.isObject, () => new NotAnObject()),
    Effect.map((object) => Object.keys(object).length)
  )

/** Repairs malformed arguments; if unsure, it hands them back to the agent that made the call. */
const jsonFixer = Agent.make("json-fixer", {
  instructions: [
    "A tool call failed because its text is not valid JSON.",
    "If you are certain of the repair, answer with the corrected arguments.",
    "Otherwise use escalate, with the JSON that you think was meant in your reason."
  ].join("\n"),
  tools: [Tool.escalate, Tool.throwException],
  budget: { turns: 3 }
})

/** Counts the top-level keys of a JSON object. Its failures are first shown to the fixer. */
export const CalculateNumberOfKeys = Tool.make("calculateNumberOfKeys", {
  description: "Counts the top-level keys of a JSON object, given as text",
  parameters: Schema.Struct({ json: Schema.String }),
  success: Schema.Int,
  effects: "read",
  timeout: "5 seconds",
  execute: ({ json }) => countKeys(json)
}).pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.fix("ExecutionError", jsonFixer),
      Recovery.escalate("ExecutionError", "InvalidArgs", "Timeout")
    )
  )
)

/** Asks how many keys an object has, and answers a number. */
export const keyCounter = Agent.make("key-counter", {
  instructions: [
    "You count the keys of objects with calculateNumberOfKeys.",
    "If the tool returns an error, read it, correct the JSON and call the tool again.",
    "Answer with the number only."
  ].join("\n"),
  output: Schema.Int,
  tools: [CalculateNumberOfKeys],
  onModelError: (error) =>
    error.isRetryable
      ? ModelError.retry({ times: 2, schedule: Schedule.exponential("500 millis") })
      : ModelError.rethrow,
  budget: { turns: 12, toolCalls: 6, retriesPerTool: 3, fixes: 3, duration: "2 minutes" }
})

/** The question of the main job. */
export const question = "How many keys? {name: world, age: 30, active: true}"
