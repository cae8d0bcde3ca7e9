/** Issues of arguments, and the model's text about them. */

import { assert } from "@effect/vitest"
import { Effect, Exit, Schema, Stream } from "effect"
import { Agent, type ErrorProjection, Recovery, Tool, ToolCall, type ToolError } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { collect, lastResults } from "./kit.ts"

export type Failure = ErrorProjection.ToolFailure

/** The issues of a call by hand; `undefined` if the arguments fit. */
export const issuesOf = (
  parameters: Schema.Top,
  args: unknown,
  options?: { readonly effects?: Tool.Effects; readonly onUnknownKeys?: Tool.OnUnknownKeys }
) => {
  const tool = Tool.make("t", { parameters: parameters as Schema.Struct<{}>, ...options, execute: () => Effect.void })
  return tool.call.pipe(
    Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: args })),
    Effect.as<ReadonlyArray<ToolError.Issue>>([]),
    Effect.catchTag("InvalidArgs", ({ issues }) => Effect.succeed(issues))
  )
}

export const said = (issues: ReadonlyArray<ToolError.Issue>) =>
  issues.map(({ expected, path }) => [path.join("."), expected])

export const Pay = Schema.Struct({ amount: Schema.Number, note: Schema.optionalKey(Schema.String) })

export const agentOf = (tool: Tool.Any) =>
  Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard }, budget: { argumentSize: Infinity } })

/** The model's result of a call, and all emitted texts about it. */
export const answerTo = (tool: Tool.Any, name: string, args: unknown) =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    return yield* Effect.gen(function*() {
      const exit = yield* Effect.exit(Stream.runDrain(agentOf(tool).stream("go")) as Effect.Effect<void>)
      assert.isTrue(Exit.isSuccess(exit), String(exit))
      const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      return { failure: lastResults(prompt)[0]!.result as Failure, events }
    }).pipe(
      Effect.provide(layer),
      Effect.provide(ScriptedModel.layer([ScriptedModel.call(name, args), ScriptedModel.text("ok")]))
    )
  })
