/**
 * Delayed answers of a guard, in durable runs whose process is killed: each is emitted once, by the execution in which
 * the guard passes it, and stopped ones never.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Schema, Stream } from "effect"
import { Agent, Guardrail, ModelFallback, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { operationsBetween } from "../../../core/test/support/operations.ts"

const verdicts = {
  passes: Effect.void,
  replaces: Effect.succeed(Guardrail.change("another")),
  stops: Effect.fail("stopped" as const)
} as const

const worldOf = (side: "guardInput" | "guardOutput", verdict: keyof typeof verdicts) => {
  const deeds: Array<string> = []
  const kept = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
  const store = Layer.succeedContext(kept)
  const guard = () => Effect.andThen(Effect.sleep("200 millis"), verdicts[verdict])
  const Book = Tool.make("book", {
    success: Schema.String,
    effects: "write",
    execute: () => Effect.andThen(Effect.sync(() => deeds.push("book")), Effect.as(Effect.sleep("50 millis"), "booked"))
  })
  const agent = Durable.make(
    Agent.make(
      "clerk",
      { tools: [Book], defaults: { onError: Recovery.keepGoing }, [side]: guard } as never
    ) as never as Agent.Agent<
      string,
      string,
      never,
      never
    >
  )
  // The first model is down: each answer is that of the next one, in words.
  const model = ModelFallback.layer([
    ScriptedModel.layer(() => ScriptedModel.failure("NetworkError")),
    ScriptedModel.layer(({ prompt }) =>
      ScriptedModel.delay(
        "30 millis",
        prompt.content.some(({ role }) => role === "tool")
          ? ScriptedModel.text("said as it is", { pace: "40 millis" })
          : ScriptedModel.call("book", {}, { id: "c1" })
      )
    )
  ])
  const process = () =>
    Effect.exit(agent.run("r1", "go")).pipe(
      Effect.provide(Durable.layer([agent]).pipe(Layer.provide([store, model]))),
      Effect.provide(Logger.layer([]))
    )
  const client = Durable.layerClient([agent], { poll: "50 millis" }).pipe(Layer.provide(store))
  const started = Effect.provide(agent.start("r1", "go"), client)
  const seen = Effect.provide(
    Effect.flatMap(Runs.Runs, (runs) => Effect.zip(runs.get("r1"), Stream.runCollect(runs.events("r1")))),
    client
  )
  return { deeds, process, seen, started, store: Context.get(kept, RunStore.RunStore) }
}

describe("a durable run's guarded answer is emitted once", () => {
  for (const side of ["guardInput", "guardOutput"] as const) {
    for (const verdict of ["passes", "replaces", "stops"] as const) {
      it.live(`${side} ${verdict}`, () =>
        Effect.gen(function*() {
          const { operations } = yield* VirtualTime.run(worldOf(side, verdict).process())
          for (const killAt of operationsBetween(151, operations, 195)) {
            for (const isRead of [false, true]) {
              const { deeds, process, seen, started, store } = worldOf(side, verdict)
              yield* started
              const lives = [
                { effect: process(), killAt },
                { effect: Effect.andThen(Effect.sleep("30 seconds"), process()), killAt: killAt + 300, identity: 1 },
                { effect: Effect.andThen(Effect.sleep("1 minute"), process()), identity: 2 }
              ]
              yield* VirtualTime.runAll<unknown, unknown, never>(
                isRead ? [...lives, { effect: seen, identity: 3 }] : lives,
                { steps: 1_000_000, order: killAt }
              )
              const about = `killed at ${killAt}${isRead ? ", read" : ""}`
              const [info, events] = yield* seen
              assert.strictEqual(info.status, verdict === "stops" ? "failed" : "completed", about)
              assert.deepEqual(events.map(({ number }) => number), events.map((_, n) => n), about)
              const { steps } = yield* store.load({ runId: "r1", segment: 0 })
              const answered = steps.filter(({ kind }) => kind === "model").map(({ key }) => Number(key.split("/")[1]))
              const told = events.flatMap(({ event }) =>
                event._tag === "ModelTurnFinished" || (event._tag === "ModelTurnFailed" && event.error === "Guardrail")
                  ? [event.turn]
                  : []
              )
              // A turn that the guard stopped before the model answered has an end, and no answer.
              assert.deepEqual([...new Set([...told, ...answered])].toSorted(), told.toSorted(), about)
              assert.strictEqual(
                JSON.stringify(events).includes("as it is"),
                verdict === "passes" || (side === "guardInput" && verdict === "replaces"),
                about
              )
              assert.isAtMost(deeds.length, 1, about)
            }
          }
        }), 120_000)
    }
  }
})
