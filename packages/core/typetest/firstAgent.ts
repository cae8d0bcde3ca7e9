/** The first agent of the README: the type of its run, and the errors that appear without `Recovery.escalate`. */
import { Agent, type Budget, ModelError, Recovery, Tool, type ToolError } from "@recourse/core"
import { Data, Effect, Schedule, Schema } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { type Equals, holds } from "./assert.ts"

class Unavailable extends Data.TaggedError("Unavailable") {}
const temperature = (city: string) => city === "Atlantis" ? Effect.fail(new Unavailable()) : Effect.succeed(21)

const Weather = Tool.make("weather", {
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.Number,
  effects: "read",
  timeout: "2 seconds",
  execute: ({ city }) => temperature(city)
})

const retried = Weather.pipe(
  Tool.onError((call) => call.pipe(Recovery.retry({ times: 2, schedule: Schedule.exponential("10 millis") })))
)

const escalated = Weather.pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.retry({ times: 2, schedule: Schedule.exponential("10 millis") }),
      Recovery.escalate("ExecutionError", "InvalidArgs", "Timeout")
    )
  )
)

const options = {
  instructions: "Answer questions about the weather.",
  onModelError: (error: AiError.AiError) => error.isRetryable ? ModelError.retry({ times: 3 }) : ModelError.rethrow,
  budget: { turns: 8, duration: "1 minute" }
} as const

const assistant = Agent.make("assistant", { ...options, tools: [escalated] }).run("How warm is it?")
type Own = AiError.AiError | Budget.BudgetExceeded | ToolError.InvalidResult
holds<Equals<typeof assistant, Effect.Effect<string, Own, LanguageModel.LanguageModel>>>()

const without = Agent.make("assistant", { ...options, tools: [retried] }).run("How warm is it?")
holds<
  Equals<
    Effect.Error<typeof without>,
    Own | ToolError.ExecutionError<Unavailable> | ToolError.InvalidArgs | ToolError.Timeout
  >
>()
