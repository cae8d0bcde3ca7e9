/** Results of tools that are streams. */

import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Schedule, Schema, Stream } from "effect"
import type { ErrorProjection, Quarantine, ToolCall } from "@recourse/core"
import { IdempotencyLedger, OutputGuard, Recovery, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { by, collect, lastResults } from "../support/kit.ts"
import { agentWith, hides, recorded } from "../support/pictures.ts"

const Pages = Schema.Struct({ pages: Schema.Int })

describe("Streams", () => {
  const count = (stream: Stream.Stream<typeof Pages.Type, never, ToolCall.ToolCall>, more: object = {}) =>
    Tool.make("count", { success: Pages, effects: "read", execute: () => stream, ...more })

  const calls = [ScriptedModel.call("count", {}, { id: "c1" }), ScriptedModel.text("Counted")]

  const numbers = Stream.make({ pages: 1 }, { pages: 2 }, { pages: 3 })

  it.effect("the last element is the result; each one is emitted", () =>
    Effect.gen(function*() {
      const { layer, requests } = yield* recorded(calls)
      const { events, layer: heard } = collect()
      yield* agentWith(count(numbers)).run("Count").pipe(Effect.provide(Layer.merge(layer, heard)))
      assert.deepStrictEqual(lastResults(requests[1]!.prompt)[0]!.result, { pages: 3 })
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event._tag === "ToolPreliminaryResult" ? [[event.callId, event.attempt, event.result]] : []
        ),
        [1, 2, 3].map((pages) => ["c1", 1, { pages }])
      )
      assert.deepStrictEqual(yield* count(numbers).call.pipe(by({})), { pages: 3 })
    }))

  it.effect("a Stream without elements answers undefined, if the schema allows", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(count(Stream.empty).call.pipe(by({})))
      assert.strictEqual(error._tag, "InvalidResult")
      const Silent = Tool.make("silent", { execute: () => Stream.empty })
      assert.isUndefined(yield* Silent.call.pipe(by({})))
    }))

  it.effect("an unfit element is not emitted, unless it is the result", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const mixed = count(Stream.make({ pages: 0.5 }, { pages: 2 }))
      yield* agentWith(mixed).run("Count").pipe(Effect.provide(Layer.merge(ScriptedModel.layer(calls), layer)))
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event._tag === "ToolPreliminaryResult" || event._tag === "ToolResult" ? [event.result] : []
        ),
        [{ pages: 2 }, { pages: 2 }]
      )
    }))

  it.effect("its error is the executor's, and a retry runs it again", () =>
    Effect.gen(function*() {
      let runs = 0
      const { events, layer: heard } = collect()
      const Flaky = Tool.make("count", {
        success: Pages,
        effects: "read",
        execute: () =>
          Stream.concat(
            Stream.make({ pages: 1 }),
            ++runs === 1 ? Stream.fail("down" as const) : Stream.make({ pages: 2 })
          )
      }).pipe(Tool.onError(Recovery.retry({ times: 1, schedule: Schedule.forever })))
      yield* agentWith(Flaky).run("Count").pipe(Effect.provide(Layer.merge(ScriptedModel.layer(calls), heard)))
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolPreliminaryResult" ? [[event.attempt, event.result]] : []),
        [[1, { pages: 1 }], [2, { pages: 1 }], [2, { pages: 2 }]]
      )
    }))

  it.live("a timeout interrupts it, without later events", () =>
    Effect.gen(function*() {
      let closed = false
      const slow = Stream.concat(Stream.make({ pages: 1 }), Stream.never).pipe(
        Stream.ensuring(Effect.sync(() => closed = true))
      )
      const { events, layer: heard } = collect()
      const { layer, requests } = yield* recorded(calls)
      yield* agentWith(count(slow, { timeout: "20 millis", effects: "write" })).run("Count").pipe(
        Effect.provide(Layer.merge(layer, heard))
      )
      assert.isTrue(closed)
      const last = events.findLastIndex(({ _tag }) => _tag === "ToolPreliminaryResult")
      assert.isBelow(last, events.findIndex(({ _tag }) => _tag === "ToolAttemptFailed"))
      const [told] = lastResults(requests[1]!.prompt)
      assert.strictEqual((told!.result as ErrorProjection.ToolFailure).code, "outcome_unknown")
    }))

  it.effect("an interruption of the run ends it", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      let closed = false
      const slow = Stream.concat(
        Stream.make({ pages: 1 }),
        Stream.fromEffect(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      ).pipe(Stream.ensuring(Effect.sync(() => closed = true)))
      const fiber = yield* agentWith(count(slow)).run("Count").pipe(
        Effect.provide(ScriptedModel.layer(calls)),
        Effect.forkChild
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(closed)
    }))

  it.effect("the ledger answers with the last element, once", () =>
    Effect.gen(function*() {
      let runs = 0
      const Import = Tool.make("import", {
        success: Pages,
        effects: "write",
        idempotency: { key: () => "import" },
        execute: () => Stream.map(numbers, (n) => (runs++, n))
      })
      const twice = Effect.all([Import.call.pipe(by({}, "a")), Import.call.pipe(by({}, "b"))])
      assert.deepStrictEqual(yield* twice.pipe(Effect.provide(IdempotencyLedger.layerMemory)), [{ pages: 3 }, {
        pages: 3
      }])
      assert.strictEqual(runs, 3)
    }))

  it.effect("elements are guarded, redacted and marked like results", () =>
    Effect.gen(function*() {
      const secret = `sk-${"b".repeat(24)}`
      const Read = Tool.make("count", {
        success: Schema.String,
        effects: "read",
        trust: "untrusted",
        execute: () => Stream.make(`page ${secret}`, "virus", "done")
      })
      const { events, layer: heard } = collect()
      const guarded: Array<string> = []
      const guard = OutputGuard.layer(({ callId, content }) =>
        guarded.push(callId) && content === "virus"
          ? Effect.fail(new OutputGuard.UnsafeOutput({ category: "virus" }))
          : Effect.void
      )
      yield* agentWith(Read).run("Read").pipe(
        Effect.provide(Layer.mergeAll(
          ScriptedModel.layer(calls),
          heard,
          guard,
          hides(secret)
        ))
      )
      const told = events.flatMap((event) =>
        event._tag === "ToolPreliminaryResult" ? [event.result as Quarantine.Envelope] : []
      )
      assert.deepStrictEqual(told.map(({ untrusted }) => untrusted), [true, true])
      const callId = events.find((event) => event._tag === "ToolResult")!.callId
      assert.deepStrictEqual(told.map(({ call_id }) => call_id), [callId, callId])
      assert.deepStrictEqual(guarded, [callId, callId, callId, callId])
      assert.notInclude(JSON.stringify(told), secret)
      assert.notInclude(JSON.stringify(told), "virus")
    }))
})
