/** The tool of the contestants that are bare `effect/ai`. */
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { type Task, tool } from "../Task.ts"
import { executor } from "./effectModel.ts"

const Double = Tool.make(tool.name, {
  description: tool.description,
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  failure: Schema.Struct({ error: Schema.String }),
  failureMode: "return"
})

const toolkit = Toolkit.make(Double)

export const toolkitWithHandlers = (task: Task) => {
  const execute = executor(task)
  const told = () => ({ error: "Down" })
  return Effect.runPromise(Effect.provide(
    toolkit,
    toolkit.toLayer({
      double: (params) =>
        task.onFailure === "retry"
          ? Effect.mapError(Effect.retry(execute(params), { times: 2 }), told)
          : Effect.mapError(execute(params), told)
    })
  ))
}
