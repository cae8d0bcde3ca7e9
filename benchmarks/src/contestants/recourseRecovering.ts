/** The plain agent with every recovery declared, none of which is needed: for W9. */
import { Effect, Schedule, Schema } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, Budget, ModelError, ModelProvider, Recovery, Tool } from "@recourse/core"
import type { Contestant } from "../Contestant.ts"
import { instructions, question, tool } from "../Task.ts"
import { executor, scriptedModel } from "./effectModel.ts"

const fixer = Agent.fromFunction("fixer", () => Effect.succeed(Recovery.declined))
const schedule = Schedule.exponential("100 millis")

export const contestant: Contestant = {
  prepare: async (task) => {
    const model = await scriptedModel(task, ModelProvider.make)
    const double = Tool.make(tool.name, {
      description: tool.description,
      parameters: Schema.Struct({ n: Schema.Number }),
      success: Schema.Number,
      effects: "read",
      execute: executor(task)
    }).pipe(
      Tool.onError((call) =>
        call.pipe(
          Recovery.retry({ times: 3, schedule }),
          Recovery.fix("InvalidArgs", fixer),
          Recovery.fix("ExecutionError", fixer),
          Recovery.fallback("ExecutionError", Effect.succeed(0)),
          Recovery.escalate("InvalidArgs")
        )
      )
    )
    const agent = Agent.make("doubler", {
      instructions,
      concurrency: "unbounded",
      budget: Budget.unlimited,
      tools: [double],
      onToolError: { double: (call) => call.pipe(Recovery.retry({ times: 2, schedule })) },
      defaults: { onError: Recovery.standard },
      onModelError: (error) => error.isRetryable ? ModelError.retry({ times: 3, schedule }) : ModelError.rethrow
    })
    return () => Effect.runPromise(Effect.provideService(agent.run(question), LanguageModel.LanguageModel, model))
  }
}
