/** A clerk that sends messages, in all ways to recover. */

import { FaultSuite, ScriptedModel, SideEffects, Subject } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Agent, Tool, ToolCall } from "@recourse/core"

export type Recover = (
  call: Effect.Effect<string, unknown, ToolCall.ToolCall | SideEffects.SideEffects>
) => Effect.Effect<string, unknown, ToolCall.ToolCall | SideEffects.SideEffects>

/** An agent with one tool that sends, with a recovery of your choice, and a model that calls it once. */
export const sender = (recover: Recover, options?: {
  readonly effects?: Tool.Effects
  readonly key?: boolean
  readonly calls?: number
  readonly to?: ReadonlyArray<string>
}) => {
  const Send = Tool.make("send", {
    parameters: Schema.Struct({ text: Schema.String, to: Schema.Array(Schema.String) }),
    success: Schema.String,
    effects: options?.effects ?? "idempotent",
    timeout: "1 second",
    execute: ({ text }) =>
      Effect.gen(function*() {
        const { id } = yield* ToolCall.ToolCall
        const world = yield* SideEffects.SideEffects
        yield* world.perform({ tool: "send", ...(options?.key === false ? {} : { key: id }) })
        return text
      })
  }).pipe(Tool.onError(recover as never)) as unknown as Tool.Tool<
    "send",
    Schema.Top,
    typeof Schema.String,
    never,
    SideEffects.SideEffects
  >
  const budget = { turns: 6 }
  const turn = ScriptedModel.call("send", { text: "hello", to: options?.to ?? ["ada", "bob", "cy"] })
  return Subject.make({
    agent: Agent.make("sender", { tools: [Send], budget }),
    tools: [Send],
    budget,
    scenarios: {
      default: {
        input: "x",
        model: options?.calls === undefined
          ? [turn, ScriptedModel.text("done")]
          : () => turn
      }
    }
  })
}

export const retrying: Recover = (call) => Effect.retry(call, { times: 2 })

export const guarding: Recover = (call) =>
  Effect.flatMap(
    call,
    (text) => text.length > 5 ? ToolCall.escalate({ reason: "Blocked", code: "unsafe_output" }) : Effect.succeed(text)
  )

export const judge = (
  subject: Subject.Subject<string, string, unknown>,
  type: string,
  expected: string,
  more?: Partial<FaultSuite.Case>
) =>
  Effect.map(
    FaultSuite.run(subject, {
      suite: "s",
      cases: [{ id: "c", tool: "send", fault: { type }, expected, ...more }]
    }),
    ({ cases }) => cases[0]!
  )
