/** A question that nobody will answer any more is called off, however deep the agent stands that asked it. */
import { assert, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, Recovery, Tool } from "@recourse/core"
import { collect } from "./kit.ts"

const { call, calls } = ScriptedModel

const Ask = Tool.make("ask", { success: Schema.String, needsApproval: true, execute: () => Effect.succeed("asked") })

const options = { description: "Does it", parameters: Schema.Struct({}), success: Schema.String } as const
const input = Schema.Struct({})
const standard = { defaults: { onError: Recovery.standard } } as const

it.effect("in an agent within an agent within the one whose run ends", () =>
  Effect.gen(function*() {
    const Boom = Tool.make("boom", {
      effects: "read",
      execute: () => Effect.andThen(Effect.sleep("1 minute"), Effect.fail("no" as const))
    })
    const Inner = Agent.make("inner", { ...standard, input, tools: [Ask] }).pipe(Agent.asTool("inner", options))
    const Middle = Agent.make("middle", { ...standard, input, tools: [Inner] }).pipe(Agent.asTool("middle", options))
    const { events, layer } = collect()
    const exit = yield* Drive.drive(
      Effect.exit(Agent.make("outer", { ...standard, tools: [Middle, Boom] }).start("go")).pipe(
        Effect.provide(Layer.mergeAll(
          layer,
          Approval.layerKey(Redacted.make("k".repeat(32))),
          ScriptedModel.layer([
            calls([{ name: "boom", params: {}, id: "b" }, { name: "middle", params: {}, id: "m" }]),
            call("inner", {}, { id: "i" }),
            call("ask", {}, { id: "a" })
          ])
        ))
      ),
      { step: "1 second" }
    )
    assert.isTrue(Exit.isFailure(exit))
    const ids = (tag: "ToolCallStarted" | "ToolResult") =>
      events.flatMap((event) => event._tag === tag ? [`${event.path.join("/")} ${event.callId}`] : []).toSorted()
    assert.deepStrictEqual(ids("ToolResult"), ["outer b", "outer m", "outer/middle i", "outer/middle/inner a"])
    assert.deepStrictEqual(ids("ToolResult"), ids("ToolCallStarted"))
  }))
