import { Effect, Layer, Redacted, Schedule, Schema, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, Approval, Budget, ModelProvider, Recovery, Tool } from "@recourse/core"
import type { Contestant } from "../Contestant.ts"
import { instructions, question, type Task, tool } from "../Task.ts"
import { executor, scriptedModel } from "./effectModel.ts"

const double = (task: Task) =>
  Tool.make(tool.name, {
    description: tool.description,
    parameters: Schema.Struct({ n: Schema.Number }),
    success: Schema.Number,
    effects: "read",
    execute: executor(task)
  })

const agentFor = (task: Task) => {
  const plain = double(task)
  // As many turns as the script has: the peers are set free of their limits as well.
  const options = { instructions, concurrency: "unbounded", budget: Budget.unlimited } as const
  switch (task.onFailure) {
    case "none":
      return Agent.make("doubler", { ...options, tools: [plain] })
    case "retry":
      return Agent.make("doubler", {
        ...options,
        tools: [plain.pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever })))]
      })
    case "tell":
      return Agent.make("doubler", {
        ...options,
        tools: [plain.pipe(Tool.onError((call) => call.pipe(Recovery.escalate("ExecutionError"))))]
      })
  }
}

export const contestant: Contestant = {
  prepare: async (task) => {
    const model = await scriptedModel(task, ModelProvider.make)
    const agent = agentFor(task)
    return () => Effect.runPromise(Effect.provideService(agent.run(question), LanguageModel.LanguageModel, model))
  },
  prepareStream: async (task, onDelta) => {
    const model = await scriptedModel(task, ModelProvider.make)
    const agent = agentFor(task)
    return async () => {
      let output: unknown
      const consumed = Stream.runForEach(agent.stream(question), (event) =>
        Effect.sync(() => {
          if (event._tag === "TextDelta") onDelta(event.delta)
          else if (event._tag === "RunFinished") output = event.output
        }))
      await Effect.runPromise(Effect.provideService(consumed, LanguageModel.LanguageModel, model))
      return String(output)
    }
  },
  preparePause: async (task) => {
    const model = await scriptedModel(task, ModelProvider.make)
    const asking = Tool.make(tool.name, {
      description: tool.description,
      parameters: Schema.Struct({ n: Schema.Number }),
      success: Schema.Number,
      effects: "write",
      needsApproval: true,
      execute: executor(task)
    })
    const agent = Agent.make("doubler", { instructions, tools: [asking], defaults: { onError: Recovery.standard } })
    const key = Approval.layerKey(Redacted.make("a key of at least thirty-two bytes"))
    const layer = Layer.merge(key, Layer.succeed(LanguageModel.LanguageModel, model))
    return async () => {
      const paused = await Effect.runPromise(Effect.provide(agent.start(question), layer))
      if (paused._tag !== "Paused") throw new Error("The run does not wait")
      return paused.snapshot
    }
  }
}
