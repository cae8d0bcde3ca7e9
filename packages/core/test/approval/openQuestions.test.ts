/** A question that cannot be answered any more is withdrawn, at any depth of the asking agent. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Agent, type AgentEvent, Approval, Recovery, Tool } from "@recourse/core"
import { collect } from "../support/kit.ts"

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

/** Of each call that began: whether it has a result, and is so closed to whoever watches. */
const openCalls = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyArray<string> => {
  const calls = (tag: "ToolCallStarted" | "ToolResult") =>
    events.flatMap((event) => event._tag === tag ? [`${event.path.join("/")} ${event.callId}`] : [])
  const results = calls("ToolResult")
  return calls("ToolCallStarted").filter((call) => !results.includes(call))
}

describe("in an agent that is interrupted between its pause and its parent knowing of it, at every operation", () => {
  const Inner = Agent.make("inner", { ...standard, input, tools: [Ask] })
  const model = ScriptedModel.layer(({ tools }) => call(tools[0]!, {}, { id: tools[0]! }))
  const forms = {
    "an agent that is a tool": Agent.make("outer", {
      ...standard,
      tools: [Inner.pipe(Agent.asTool("inner", options))]
    }).start("go"),
    "an agent behind another": Agent.fromFunction("first", (_: string) => Effect.succeed({})).pipe(
      Agent.andThen(Inner)
    ).start("go")
  }
  const starts: Readonly<Record<string, Effect.Effect<unknown, unknown, unknown>>> = forms
  for (const [form, start] of Object.entries(starts)) {
    it.effect(`${form}: either the whole run waits, or no question stays open`, () =>
      Effect.gen(function*() {
        const go = (interruptAt?: number) => {
          const { events, layer } = collect()
          return Effect.map(
            VirtualTime.run(
              start.pipe(
                Effect.provide(Layer.mergeAll(layer, model, Approval.layerKey(Redacted.make("k".repeat(32)))))
              ) as Effect.Effect<unknown, unknown>,
              interruptAt === undefined ? {} : { interruptAt }
            ),
            ({ exit, operations }) => ({ events, exit, operations })
          )
        }
        const waiting = yield* go()
        assert.strictEqual(Exit.isSuccess(waiting.exit) && (waiting.exit.value as Approval.Paused)._tag, "Paused")
        assert.isAbove(openCalls(waiting.events).length, 0)
        const asked = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
          events.some(({ _tag }) => _tag === "ApprovalRequested")
        // Before the question there is no question to withdraw.
        let from = 1
        for (let to = waiting.operations; from < to;) {
          const middle = Math.floor((from + to) / 2)
          if (asked((yield* go(middle)).events)) to = middle
          else from = middle + 1
        }
        let calledOff = 0
        for (let at = from - 1; at <= waiting.operations; at++) {
          const { events, exit } = yield* go(at)
          const isPaused = events.some((event) =>
            event._tag === "RunFinished" && event.path.length === 1 && event.outcome === "paused"
          )
          if (isPaused || Exit.isSuccess(exit)) continue
          assert.deepStrictEqual(openCalls(events), [], `operation ${at}`)
          if (asked(events)) calledOff++
        }
        assert.isAbove(calledOff, 0)
      }))
  }
})
