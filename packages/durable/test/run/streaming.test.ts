/** Answers that readers see while they are written: from whichever runner, late, and when the process that wrote is killed. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, Schema, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, type AgentEvent, ModelProvider, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"

const words = "one two three four five six seven eight nine ten ".split(/(?<= )/u)

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }

/** A model that calls a tool, and then writes a word a second. */
const Slowly = Layer.effect(
  LanguageModel.LanguageModel,
  ModelProvider.make({
    generateText: () => Effect.die("asked for no stream"),
    streamText: ({ prompt }) => {
      const finish = (reason: "stop" | "tool-calls") =>
        ({ type: "finish", reason, usage, response: undefined }) as const
      if (prompt.content.every(({ role }) => role !== "assistant")) {
        return Stream.make(
          { type: "tool-call", id: "c1", name: "look", params: {} },
          finish("tool-calls")
        )
      }
      const spoken = Stream.fromIterable(words).pipe(
        Stream.mapEffect((delta) =>
          Effect.as(Effect.sleep("1 second"), { type: "text-delta", id: "t", delta } as const)
        )
      )
      return Stream.make({ type: "text-start", id: "t" } as const).pipe(
        Stream.concat(spoken),
        Stream.concat(Stream.make({ type: "text-end", id: "t" } as const, finish("stop")))
      )
    }
  })
)

const Look = Tool.make("look", {
  success: Schema.String,
  effects: "read",
  execute: () => Effect.as(Effect.sleep("1 second"), "free")
})
const agent = Durable.make(Agent.make("speaker", { tools: [Look], defaults: { onError: Recovery.keepGoing } }))

const storeOf = () =>
  Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory)))))

const runner = (store: ReturnType<typeof storeOf>) =>
  agent.await("r1").pipe(Effect.provide(Durable.layer([agent]).pipe(Layer.provide([store, Slowly]))))

interface Seen {
  readonly at: number
  readonly number: number
  readonly event: AgentEvent.AgentEvent
}

/** A process that reads a run, from a time on. */
const reader = (store: ReturnType<typeof storeOf>, after: number) =>
  Effect.gen(function*() {
    const runs = yield* Runs.Runs
    yield* Effect.sleep(after)
    return yield* Stream.runCollect(
      Stream.mapEffect(
        runs.events("r1"),
        ({ event, number }) => Effect.map(Clock.currentTimeMillis, (at): Seen => ({ at, number, event }))
      )
    )
  }).pipe(Effect.provide(Durable.layerClient([agent]).pipe(Layer.provide(store))))

const starter = (store: ReturnType<typeof storeOf>) =>
  Effect.provide(agent.start("r1", "go"), Durable.layerClient([agent]).pipe(Layer.provide(store)))

/** A reader's view of the last answer, by the events. */
const shown = (seen: ReadonlyArray<Seen>): string => {
  let text = ""
  for (const { event } of seen) {
    if (event._tag === "TextDelta") text += event.delta
    if (event._tag === "AnswerRestarted") {
      assert.strictEqual(event.text, text)
      text = ""
    }
    if (event._tag === "ModelTurnFinished" && event.text !== "") {
      if (text === "") text = event.text
      assert.strictEqual(text, event.text)
    }
  }
  return text
}

const whole = words.join("")

describe("an answer of a durable run", () => {
  it.live("is read elsewhere while written, from its start by late readers", () =>
    Effect.gen(function*() {
      const store = storeOf()
      yield* starter(store)
      const ended = yield* VirtualTime.runAll<unknown, unknown, never>([
        { effect: runner(store) },
        { effect: reader(store, 0), identity: 1 },
        { effect: reader(store, 7000), identity: 2 }
      ], { steps: 1_000_000 })
      assert.deepEqual(ended[0]?.exit, Exit.succeed(whole))
      for (const [index, from] of [[1, 0], [2, 7000]] as const) {
        const seen = (yield* ended[index]!.exit) as ReadonlyArray<Seen>
        assert.deepEqual(seen.map(({ number }) => number), seen.map((_, n) => n))
        assert.strictEqual(shown(seen), whole)
        const deltas = seen.filter(({ event }) => event._tag === "TextDelta")
        assert.isAtLeast(deltas.length, from === 0 ? 8 : 4)
        // A word is read within one and a half seconds: the runner and the reader look at the store each half a second.
        for (const { at, event } of deltas) {
          if (event._tag === "TextDelta" && at > from + 2000) assert.isAtMost(at - event.at, 1500)
        }
        // The call is seen while it runs, and not when it has ended.
        const started = seen.find(({ event }) => event._tag === "ToolCallStarted")
        if (from === 0) assert.isBelow(started!.at - started!.event.at, 1200)
      }
    }))

  it.live("costs an unread run no row, and is whole for later readers", () =>
    Effect.gen(function*() {
      const store = storeOf()
      yield* starter(store)
      const { exit } = yield* VirtualTime.run(runner(store))
      assert.deepEqual(exit, Exit.succeed(whole))
      const { exit: read } = yield* VirtualTime.run(reader(store, 0))
      const seen = yield* read
      assert.strictEqual(shown(seen), whole)
      assert.isFalse(seen.some(({ event }) => event._tag === "TextDelta"))
      const steps = yield* Effect.provide(
        Effect.flatMap(RunStore.RunStore, (store) => store.load({ runId: "r1", segment: 0 })),
        store
      )
      assert.deepEqual(steps.steps.map(({ kind }) => kind), ["model", "call", "model", "end"])
    }))

  it.live("restarts for its readers if the writing process is killed", () =>
    Effect.gen(function*() {
      let restarts = 0
      for (let killAt = 700; killAt <= 2700; killAt += 100) {
        const store = storeOf()
        yield* starter(store)
        const ended = yield* VirtualTime.runAll<unknown, unknown, never>([
          { effect: runner(store), killAt },
          { effect: Effect.andThen(Effect.sleep("5 seconds"), runner(store)), identity: 1 },
          { effect: reader(store, 0), identity: 2 }
        ], { steps: 1_000_000, order: killAt })
        assert.deepEqual(ended[1]?.exit, Exit.succeed(whole), `killed at ${killAt}`)
        const seen = (yield* ended[2]!.exit) as ReadonlyArray<Seen>
        assert.deepEqual(seen.map(({ number }) => number), seen.map((_, n) => n))
        assert.strictEqual(shown(seen), whole, `killed at ${killAt}`)
        restarts += seen.filter(({ event }) => event._tag === "AnswerRestarted").length
      }
      assert.isAbove(restarts, 1)
    }))
})

describe("a durable run", () => {
  it.live.each([undefined, true, false])(
    "asks its model for a stream unless it is told not to: %s",
    (streaming) =>
      Effect.gen(function*() {
        const requests: Array<boolean> = []
        const model = ScriptedModel.layer((request) => {
          requests.push(request.streaming)
          return ScriptedModel.text("Hello.")
        })
        const greeter = Durable.make(Agent.make("greeter", {}), streaming === undefined ? {} : { streaming })
        const layer = Durable.layer([greeter]).pipe(Layer.provide([RunStore.layerMemory, model]))
        assert.strictEqual(yield* greeter.run("r1", "Hi").pipe(Effect.provide(layer)), "Hello.")
        assert.deepEqual(requests, [streaming ?? true])
      })
  )
})
