/** Runs that are interrupted around a question: a race that is won leaves none open. */
import { assert, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Agent, AgentEvent, Approval, Recovery, Tool } from "@recourse/core"
import { Effect, Layer, Redacted, Schema } from "effect"

const clerkOf = (log: Array<string>, more: object = {}) =>
  Agent.make("clerk", {
    tools: [
      Tool.make("book", {
        effects: "write",
        success: Schema.String,
        execute: () => Effect.sync(() => `booked ${log.push("booked")}`),
        compensate: () => Effect.sync(() => void log.push("cancelled"))
      }),
      Tool.make("pay", {
        effects: "write",
        needsApproval: true,
        execute: () => Effect.sync(() => void log.push("paid")),
        compensate: () => Effect.sync(() => void log.push("paid back"))
      })
    ],
    defaults: { onError: Recovery.standard },
    ...more
  })

const turns = [
  ScriptedModel.call("book", {}, { id: "b" }),
  ScriptedModel.call("pay", {}, { id: "p" }),
  ScriptedModel.text("Done.")
]

/** Runs it, and interrupts it before an operation. */
const cutOff = <A, E>(
  run: Effect.Effect<A, E, any>,
  interruptAt: number,
  events: Array<AgentEvent.AgentEvent> = []
) =>
  VirtualTime.run(
    Effect.provide(
      run,
      Layer.mergeAll(
        ScriptedModel.layer(turns),
        Approval.layerKey(Redacted.make("k".repeat(32))),
        // Listeners take their time.
        AgentEvent.listen((event) =>
          Effect.andThen(Effect.sync(() => void events.push(event)), Effect.forEach([1, 2, 3], () => Effect.yieldNow))
        )
      )
    ) as Effect.Effect<A, E>,
    { interruptAt }
  )

it.effect("a won race withdraws the other questions at any interruption", () =>
  Effect.gen(function*() {
    const wins = Agent.fromFunction("wins", (_: string) => Effect.delay(Effect.succeed("done"), "1 second"))
    const cutOffAt = Effect.fnUntraced(function*(interruptAt: number) {
      const events: Array<AgentEvent.AgentEvent> = []
      const race = Agent.firstOf("race", [clerkOf([]), wins])
      const { operations } = yield* cutOff(race.run("Book it"), interruptAt, events)
      const of = (tag: string) =>
        events.flatMap((event) => event._tag === tag && "callId" in event ? [event.callId] : [])
      assert.deepStrictEqual(of("ToolResult").toSorted(), of("ToolCallStarted").toSorted(), `operation ${interruptAt}`)
      return operations
    })
    const operations = yield* cutOffAt(Infinity)
    for (let interruptAt = 1; interruptAt <= operations; interruptAt += 3) yield* cutOffAt(interruptAt)
  }))
