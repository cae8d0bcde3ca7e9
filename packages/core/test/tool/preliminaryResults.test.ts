/** Preliminary results of handlers of `effect/ai`: the events are those of a tool whose executor is a Stream. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AiToolkit, OutputGuard, Recovery, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schedule, Schema, Stream } from "effect"
import { Tool as AiTool, Toolkit } from "effect/ai"
import { collect, lastResults } from "../support/kit.ts"

class Down extends Schema.TaggedError<Down>()("Down", {}) {}

const hits = Schema.Struct({ hits: Schema.Array(Schema.String) })

const Search = AiTool.make("search", { success: hits, failure: Down })

const found = [{ hits: ["a"] }, { hits: ["a", "b"] }, { hits: ["a", "b", "c"] }]

const blocksB: OutputGuard.Guard = ({ content }) =>
  JSON.stringify(content).includes("\"b\"") ? Effect.fail(new OutputGuard.UnsafeOutput({ category: "b" })) : Effect.void

/** A handler that fails in its first attempts, after a preliminary result. */
const handler = (failures: number) => {
  let attempts = 0
  return (_: unknown, { preliminary }: Toolkit.HandlerContext<typeof Search>) =>
    Effect.gen(function*() {
      yield* preliminary(found[0]!)
      yield* Effect.yieldNow
      if (attempts++ < failures) return yield* new Down()
      yield* preliminary(found[1]!)
      return found[2]!
    })
}

/** A tool for each way to make one, of handlers that fail in their first attempts. */
const ways: Readonly<Record<string, (failures: number) => Effect.Effect<ReadonlyArray<Tool.Any>>>> = {
  "a Stream": (failures) =>
    Effect.sync(() => {
      let attempts = 0
      const rest = Stream.suspend(() =>
        attempts++ < failures ? Stream.fail(new Down()) : Stream.make(found[1]!, found[2]!)
      )
      return [
        Tool.make("search", {
          success: hits,
          effects: "read",
          execute: () => Stream.concat(Stream.make(found[0]!), rest)
        })
      ]
    }),
  fromTool: (failures) => Effect.sync(() => [AiToolkit.fromTool(Search, handler(failures), { effects: "read" })]),
  fromToolkit: (failures) => {
    const kit = Toolkit.make(Search)
    return Effect.map(
      Effect.provide(kit, kit.toLayer({ search: handler(failures) })),
      (handlers) => AiToolkit.fromToolkit(handlers, { search: { effects: "read" } })
    )
  }
}

/** The events of one call, and the model's result of it. */
const events = (way: string, options?: { readonly failures?: number; readonly guard?: Layer.Layer<never> }) =>
  Effect.gen(function*() {
    const again = Recovery.retry({ times: 1, schedule: Schedule.forever })
    const tools = (yield* ways[way]!(options?.failures ?? 0)).map((tool) => Tool.onError(again as never)(tool as never))
    const made: unknown = Agent.make("finder", { tools, defaults: { onError: Recovery.keepGoing } } as never)
    const agent = made as Agent.Agent<string, string, unknown, never>
    const { events, layer: listener } = collect()
    const read: Array<unknown> = []
    const model = ScriptedModel.layer(({ prompt }) => {
      const results = lastResults(prompt)
      read.push(...results.map(({ result }) => result))
      return results.length === 0 ? ScriptedModel.call("search", {}, { id: "c1" }) : ScriptedModel.text("done")
    })
    yield* agent.run("Search").pipe(Effect.provide(Layer.mergeAll(model, listener, options?.guard ?? Layer.empty)))
    const preliminary = events.flatMap((event) =>
      event._tag === "ToolPreliminaryResult" ? [[event.callId, event.attempt, event.result]] : []
    )
    return { preliminary, read }
  })

describe("a preliminary result of a handler", () => {
  for (const way of ["fromTool", "fromToolkit"]) {
    it.effect(`is an event, and the model reads the last result only: ${way}`, () =>
      Effect.gen(function*() {
        const { preliminary, read } = yield* events(way)
        assert.deepStrictEqual(preliminary, [["c1", 1, found[0]], ["c1", 1, found[1]]])
        assert.deepStrictEqual(read, [found[2]])
      }))
  }

  for (const way of Object.keys(ways)) {
    it.effect(`is an event of its attempt: ${way}`, () =>
      Effect.map(events(way, { failures: 1 }), ({ preliminary, read }) => {
        assert.deepStrictEqual(preliminary.slice(0, 3), [["c1", 1, found[0]], ["c1", 2, found[0]], ["c1", 2, found[1]]])
        assert.deepStrictEqual(read, [found[2]])
      }))

    it.effect(`is no event if a guard blocks it: ${way}`, () =>
      Effect.map(
        events(way, { guard: OutputGuard.layer(blocksB) }),
        ({ preliminary }) => assert.deepStrictEqual(preliminary, [["c1", 1, found[0]]])
      ))
  }

  it.effect("is dropped if it does not fit, or without a listener", () =>
    Effect.gen(function*() {
      const odd = AiToolkit.fromTool(
        Search,
        (_, { preliminary }) => Effect.as(preliminary({ hits: 7 } as never), found[2]!),
        { effects: "read" }
      )
      const alone = yield* Effect.provideService(
        odd.call as Effect.Effect<unknown, unknown, ToolCall.ToolCall>,
        ToolCall.ToolCall,
        ToolCall.make({ id: "c1", arguments: {} })
      )
      assert.deepStrictEqual(alone, found[2])
    }))
})
