import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer, Schedule, Schema, Stream } from "effect"
import { Agent, Approval, IdempotencyLedger, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { durable, model, world } from "../support/office.ts"
import { localStores } from "../support/localStores.ts"

const Spaced = Schedule.spaced("20 millis")

const program = (store: Layer.Layer<RunStore.RunStore>, options?: { readonly approval?: boolean }) => {
  const outside = world()
  const chief = durable(outside)
  const layer = Durable.layer([chief]).pipe(
    Layer.provide([Layer.fresh(store), model(outside, options), Layer.fresh(IdempotencyLedger.layerMemory)])
  )
  return { outside, chief, layer }
}

for (const [name, store] of Object.entries(localStores)) {
  const inTime = <A, E>(effect: Effect.Effect<A, E>) =>
    name === "memory"
      ? Effect.flatMap(VirtualTime.run(effect), ({ exit }) => exit)
      : effect
  describe(`a durable agent over ${name}`, () => {
    it.live("starts, is joined, and answers", () => {
      const { chief, layer, outside } = program(store)
      return inTime(
        Effect.gen(function*() {
          assert.isTrue((yield* chief.start("r1", "go")).isNew)
          assert.isFalse((yield* chief.start("r1", "go")).isNew)
          assert.strictEqual(yield* chief.run("r1", "go"), "done")
          assert.deepEqual(outside.asked, ["chief 0", "chief 1", "clerk 0", "clerk 1", "chief 2"])
          assert.deepEqual(outside.writes, ["1A", "3C"])
          const info = yield* chief.poll("r1")
          assert.strictEqual(info.status, "completed")
          const runs = yield* Runs.Runs
          const events = yield* Stream.runCollect(runs.events("r1"))
          assert.deepEqual(events.map(({ number }) => number), events.map((_, index) => index))
          assert.strictEqual(events[0]?.event._tag, "RunStarted")
          assert.strictEqual(events.at(-1)?.event._tag, "RunFinished")
          const late = yield* Stream.runCollect(runs.events("r1", 5))
          assert.deepEqual(late, events.slice(5))
          assert.deepEqual((yield* runs.list({ status: "completed" })).map(({ runId }) => runId), ["r1"])
        }).pipe(Effect.provide(layer))
      )
    })

    it.live("refuses unfit requests, each with its error", () => {
      const { chief, layer } = program(store)
      return inTime(
        Effect.gen(function*() {
          yield* chief.start("r1", "go")
          const conflict = yield* Effect.flip(chief.start("r1", "other"))
          assert.strictEqual(conflict._tag, "RunConflict")
          const unknown = yield* Effect.flip(chief.await("r2"))
          assert.strictEqual(unknown._tag, "UnknownRun")
          const runs = yield* Runs.Runs
          assert.strictEqual((yield* Effect.flip(runs.start({ agent: "nobody", input: "x" })))._tag, "UnknownAgent")
          assert.strictEqual((yield* Effect.flip(runs.start({ agent: "chief", input: 5 })))._tag, "InvalidInput")
          yield* chief.await("r1")
          const decision = { _tag: "Reject", callId: "c9", argumentsHash: "00", reason: "no" } as const
          const refused = yield* Effect.flip(chief.decide("r1", [decision]))
          assert.strictEqual(refused._tag === "DecisionRefused" && refused.reason, "unknown_call")
          assert.isFalse(yield* chief.cancel("r1"))
        }).pipe(Effect.provide(layer))
      )
    })

    it.live("continues if the waiting effect is interrupted", () => {
      const { chief, layer, outside } = program(store)
      return inTime(
        Effect.gen(function*() {
          const waiting = yield* Effect.forkChild(chief.run("r1", "go"), { startImmediately: true })
          yield* Effect.sleep("60 millis")
          yield* Fiber.interrupt(waiting)
          assert.strictEqual(yield* chief.await("r1"), "done")
          assert.deepEqual(outside.writes, ["1A", "3C"])
        }).pipe(Effect.provide(layer))
      )
    })

    it.live("waits for a person, and continues as decided", () => {
      const { chief, layer, outside } = program(store, { approval: true })
      return inTime(
        Effect.gen(function*() {
          yield* chief.start("r1", "go")
          const waiting = yield* Effect.repeat(chief.poll("r1"), {
            until: ({ status }) => status === "waiting",
            schedule: Spaced
          })
          const [pending] = waiting.pending
          assert.strictEqual(pending?.tool, "refund")
          yield* chief.decide("r1", [Approval.approve(pending!, { by: "eve" })])
          const twice = yield* Effect.flip(chief.decide("r1", [Approval.approve(pending!)]))
          assert.strictEqual(twice._tag === "DecisionRefused" && twice.reason, "twice")
          assert.strictEqual(yield* chief.await("r1"), "done")
          assert.deepEqual(outside.writes, ["1A", "3C", "refund 1A"])
          assert.strictEqual(new Set(outside.asked).size, outside.asked.length)
          const runs = yield* Runs.Runs
          const events = yield* Stream.runCollect(runs.events("r1"))
          assert.deepEqual(events.map(({ number }) => number), events.map((_, index) => index))
        }).pipe(Effect.provide(layer))
      )
    })

    it.live("is cancelled while it runs and while it waits", () => {
      const { chief, layer, outside } = program(store, { approval: true })
      return inTime(
        Effect.gen(function*() {
          yield* chief.start("r1", "go")
          yield* Effect.sleep("60 millis")
          assert.isTrue(yield* chief.cancel("r1"))
          const ended = yield* Effect.exit(Effect.timeout(chief.await("r1"), "1 second"))
          assert.isTrue(Exit.isFailure(ended))
          assert.strictEqual((yield* chief.poll("r1")).status, "cancelled")
          const asked = outside.asked.length
          yield* chief.start("r2", "go")
          yield* Effect.repeat(chief.poll("r2"), { until: ({ status }) => status === "waiting", schedule: Spaced })
          assert.isTrue(yield* chief.cancel("r2"))
          assert.strictEqual((yield* Effect.flip(chief.await("r2")))._tag, "RunCancelled")
          assert.isAbove(outside.asked.length, asked)
          // Readers see an end, with the conversation so far, though no runner has the run.
          const runs = yield* Runs.Runs
          const events = yield* Stream.runCollect(runs.events("r2"))
          assert.deepEqual(events.map(({ number }) => number), events.map((_, index) => index))
          const last = events.at(-1)?.event
          assert.isTrue(last?._tag === "RunFinished" && last.outcome === "interrupted")
          if (last?._tag === "RunFinished") {
            assert.strictEqual(last.usage.turns, 5)
            assert.isAbove(last.transcript.content.length, 5)
          }
        }).pipe(Effect.provide(layer))
      )
    })
  })
}

describe("a durable run that another process cancels", () => {
  const Write = Tool.make("write", {
    success: Schema.String,
    effects: "write",
    execute: () => Effect.as(Effect.sleep("10 seconds"), "written")
  })
  const writer = Durable.make(Agent.make("writer", { tools: [Write], defaults: { onError: Recovery.keepGoing } }))
  const slow = ScriptedModel.layer(({ prompt }) =>
    ScriptedModel.delay(
      "10 seconds",
      prompt.content.length < 3 ? ScriptedModel.call("write", {}) : ScriptedModel.text("done")
    )
  )

  for (const [where, after] of [["a model call", 5000], ["a write", 15_000], ["the last answer", 25_000]] as const) {
    it.live(`ends within a second, in ${where}`, () =>
      Effect.gen(function*() {
        const store = Layer.succeedContext(yield* Layer.build(Layer.fresh(RunStore.layerMemory)))
        const runner = Effect.never.pipe(
          Effect.provide(Durable.layer([writer]).pipe(Layer.provide([store, slow]))),
          Effect.timeoutOption("1 minute")
        )
        const canceller = Effect.gen(function*() {
          yield* writer.start("r1", "go")
          yield* Effect.sleep(after)
          const before = yield* Clock.currentTimeMillis
          assert.isTrue(yield* writer.cancel("r1"))
          assert.strictEqual((yield* Effect.flip(writer.await("r1")))._tag, "RunCancelled")
          assert.isAtMost((yield* Clock.currentTimeMillis) - before, 1000)
          const runs = yield* Runs.Runs
          const events = (yield* Stream.runCollect(runs.events("r1"))).map(({ event }) => event)
          const last = events.at(-1)
          assert.strictEqual(last?._tag === "RunFinished" && last.outcome, "interrupted")
          const codes = events.flatMap((event) => event._tag === "ToolResult" ? [event.code] : [])
          assert.deepEqual(codes, after < 10_000 ? [] : after < 20_000 ? ["outcome_unknown"] : [undefined])
        }).pipe(Effect.provide(Durable.layerClient([writer]).pipe(Layer.provide(store))))
        const ended = yield* VirtualTime.runAll<unknown, unknown, never>([
          { effect: runner },
          { effect: canceller, identity: 1 }
        ])
        assert.isTrue(Exit.isSuccess(ended[1]!.exit), String(ended[1]!.exit))
      }).pipe(Effect.scoped))
  }
})
