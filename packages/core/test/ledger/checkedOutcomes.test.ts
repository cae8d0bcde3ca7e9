/** Answers of people about writes whose outcome is unknown, in the place of `reconcile`. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentEvent, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"

const world = () => {
  const log: Array<string> = []
  const Pay = (reconcile?: () => Effect.Effect<ReturnType<typeof stillUnknown>>) =>
    Tool.make("pay", {
      parameters: Schema.Struct({ order: Schema.Int }),
      success: Schema.Struct({ at: Schema.Date }),
      effects: "write",
      timeout: "1 second",
      idempotency: { key: ({ order }) => `order ${order}`, ...(reconcile === undefined ? undefined : { reconcile }) },
      execute: ({ order }) => Effect.andThen(Effect.sync(() => log.push(`pay ${order}`)), Effect.never)
    })
  return { log, Pay }
}

const stillUnknown = () => ({ _tag: "Unknown" }) as const

const checked = (answer: Effect.Success<ReturnType<IdempotencyLedger.CheckOutcome>>, asked: Array<string> = []) =>
  Effect.provideService(IdempotencyLedger.CheckedOutcomes, (entry: string) =>
    Effect.sync(() => {
      asked.push(entry)
      return answer
    }))

const call = <A, E, R>(effect: Effect.Effect<A, E, R>, id: string) =>
  Effect.provideService(effect, ToolCall.ToolCall, ToolCall.make({ id, arguments: { order: 7 } }))

describe("a checked outcome", () => {
  it.effect("that happened is the next call's result, decoded by the tool's schema", () =>
    Effect.gen(function*() {
      const { log, Pay } = world()
      for (const reconcile of [undefined, () => Effect.succeed(stillUnknown())]) {
        log.length = 0
        const pay = Pay(reconcile).call
        const asked: Array<string> = []
        const [first, second] = yield* Drive.drive(
          Effect.all([
            Effect.flip(call(pay, "c1")),
            call(pay, "c2").pipe(
              checked({ _tag: "Completed", result: { at: "2026-01-02T00:00:00.000Z" } }, asked)
            )
          ]).pipe(Effect.provide(IdempotencyLedger.layerMemory))
        )
        assert.strictEqual(first._tag, "OutcomeUnknown")
        assert.strictEqual(second.at.getUTCFullYear(), 2026)
        assert.deepStrictEqual(log, ["pay 7"])
        assert.lengthOf(asked, 1)
      }
    }))

  it.effect("that did not happen lets the next call run; unreadable stays unknown", () =>
    Effect.gen(function*() {
      const { log, Pay } = world()
      const pay = Pay().call
      const errors = yield* Drive.drive(
        Effect.all([
          Effect.flip(call(pay, "c1")),
          Effect.flip(call(pay, "c2").pipe(checked({ _tag: "Completed", result: { at: "never" } }))),
          Effect.flip(call(pay, "c3").pipe(checked({ _tag: "NotStarted" })))
        ]).pipe(Effect.provide(IdempotencyLedger.layerMemory))
      )
      assert.deepStrictEqual(errors.map(({ _tag }) => _tag), ["OutcomeUnknown", "OutcomeUnknown", "OutcomeUnknown"])
      assert.deepStrictEqual(log, ["pay 7", "pay 7"])
    }))

  it.effect("is queried by the entry in the unknown outcome's event", () =>
    Effect.gen(function*() {
      const { Pay } = world()
      const events: Array<AgentEvent.AgentEvent> = []
      const agent = Agent.make("a", { tools: [Pay()], defaults: { onError: Recovery.standard } })
      yield* Drive.drive(
        agent.run("Pay").pipe(
          Effect.provide(AgentEvent.listen((event) => Effect.sync(() => void events.push(event)))),
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", { order: 7 }), ScriptedModel.text("Check.")])),
          Effect.provide(IdempotencyLedger.layerMemory)
        )
      )
      const entries = events.flatMap((event) => event._tag === "ToolResult" ? [event.entry] : [])
      assert.match(entries[0] ?? "", /^[\da-f]{64}$/)
    }))
})
