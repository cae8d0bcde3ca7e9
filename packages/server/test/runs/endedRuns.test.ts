/** Compensation of ended runs, of memory and of durable engines: their events list the writes, and each write is compensated once. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Audit, Compensation, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { MemoryRuns } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Data, Effect, Layer, Schema } from "effect"

class Away extends Data.TaggedError("Away") {}

const { call, calls, text } = ScriptedModel

const Place = Schema.Struct({ place: Schema.String })

/** Tools that book, read, send, and give no answer. */
const toolsOf = (log: Array<string>) => {
  const book = Tool.make("book", {
    parameters: Place,
    success: Schema.Struct({ code: Schema.String }),
    effects: "write",
    execute: ({ place }) => Effect.sync(() => (log.push(`book ${place}`), { code: `${place}-1` })),
    compensate: ({ place }, { code }) =>
      place === "Away" ? Effect.fail(new Away()) : Effect.delay(Effect.sync(() => void log.push(`cancel ${code}`)), 5)
  })
  const look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.succeed("free") })
  const send = Tool.make("send", { effects: "write", execute: () => Effect.sync(() => void log.push("send")) })
  const fax = Tool.make("fax", {
    effects: "write",
    execute: () => Effect.andThen(Effect.sync(() => void log.push("fax")), Effect.fail(new Away())),
    compensate: () => Effect.sync(() => void log.push("unfax"))
  })
  return [book, look, send, fax] as const
}

const clerk = (log: Array<string>) => {
  const tools = toolsOf(log)
  const inner = Agent.make("helper", { input: Place, tools: [tools[0]], defaults: { onError: Recovery.keepGoing } })
    .pipe(
      Agent.asTool("helper", { description: "Books", parameters: Place, success: Schema.String })
    )
  return Agent.make("clerk", { tools: [...tools, inner], defaults: { onError: Recovery.keepGoing } })
}

type Clerk = ReturnType<typeof clerk>

const engines = {
  memory: (agent: Clerk) => MemoryRuns.layer({ agents: [agent] }),
  durable: (agent: Clerk) =>
    Durable.layer([Durable.make(agent)], { poll: "10 millis" }).pipe(Layer.provide(RunStore.layerMemory))
}

const started = (...turns: ReadonlyArray<ScriptedModel.Turn>) => ({
  model: ScriptedModel.layer(({ prompt, tools }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    const own = tools.length === 1 ? [call("book", { place: "Oslo" }, { id: "h1" }), text("Booked.")] : turns
    return own[turn] ?? text("Done.")
  }),
  run: Effect.gen(function*() {
    const runs = yield* Runs.Runs
    yield* runs.start({ agent: "clerk", input: "Go", runId: "r1", owner: "ada" })
    return yield* runs.wait("r1")
  })
})

const brief = ({ callId, canCompensate, state, tool }: Compensation.RunWrite) =>
  `${callId} ${tool} ${state}${canCompensate ? " can" : ""}`

const booked = calls([
  { name: "book", params: { place: "Rome" }, id: "c1" },
  { name: "look", params: {}, id: "c2" },
  { name: "send", params: {}, id: "c3" },
  { name: "fax", params: {}, id: "c4" },
  { name: "book", params: { place: 7 }, id: "c5" }
])

for (const [kind, engine] of Object.entries(engines)) {
  describe(`compensation of ended ${kind} runs`, () => {
    it.live("lists the writes of each call, and compensates one once for many requests", () => {
      const log: Array<string> = []
      const { model, run } = started(booked, call("helper", { place: "Oslo" }, { id: "c6" }), text("Done."))
      return Effect.gen(function*() {
        const { status } = yield* run
        assert.strictEqual(status, "completed")
        const before = yield* Compensation.writes("r1")
        assert.deepStrictEqual(before.map(brief).toSorted(), [
          "c1 book done can",
          "c3 send done",
          "c4 fax unknown",
          "c6/h1 book done can"
        ])
        const rome = before.find(({ callId }) => callId === "c1")!
        assert.strictEqual(rome.arguments, "{\"place\":\"Rome\"}")
        const compensate = (by: string) => Compensation.compensate({ runId: "r1", writes: [rome.id], by })
        const [one, two] = yield* Effect.all([compensate("ada"), compensate("bob")], { concurrency: 2 })
        for (const after of [one, two, yield* compensate("eve")]) {
          const { by, compensatedBy, state } = after.find(({ id }) => id === rome.id)!
          assert.deepStrictEqual([state, by, compensatedBy?.startsWith("undo_")], ["compensated", "ada", true])
        }
        assert.deepStrictEqual(log.filter((line) => line.startsWith("cancel")), ["cancel Rome-1"])
        const all = yield* Compensation.compensate({ runId: "r1" })
        assert.deepStrictEqual(all.map(brief).toSorted(), [
          "c1 book compensated",
          "c3 send done",
          "c4 fax unknown",
          "c6/h1 book compensated"
        ])
        assert.deepStrictEqual(log.filter((line) => line.startsWith("cancel")), ["cancel Rome-1", "cancel Oslo-1"])
      }).pipe(Effect.provide(engine(clerk(log)).pipe(Layer.provide(model))))
    })

    it.live("compensates the newest write first, with reasons and audit records", () => {
      const log: Array<string> = []
      const audit: Array<string> = []
      const places = ["Rome", "Away", "Oslo"]
      const { model, run } = started(
        ...places.map((place, at) => call("book", { place }, { id: `c${at}` })),
        text("Done.")
      )
      return Effect.gen(function*() {
        yield* run
        const after = yield* Compensation.compensate({ runId: "r1", by: "ada" })
        assert.deepStrictEqual(after.map(brief), [
          "c0 book compensated",
          "c1 book not_compensated",
          "c2 book compensated"
        ])
        assert.deepInclude(after[1], { because: "failed", error: "Away", by: "ada" })
        assert.deepStrictEqual(log.slice(-2), ["cancel Oslo-1", "cancel Rome-1"])
        assert.deepStrictEqual(audit, ["c2 compensated", "c1 not_compensated", "c0 compensated"])
      }).pipe(Effect.provide(
        engine(clerk(log)).pipe(
          Layer.provide(model),
          Layer.provide(
            Audit.layer(({ callId, decision }) => Effect.sync(() => void audit.push(`${callId} ${decision}`)))
          )
        )
      ))
    })

    it.live("refuses a run that has not ended, and a write that declares no compensation", () => {
      const { model, run } = started(call("send", {}, { id: "c1" }), ScriptedModel.delay("40 millis", text("Done.")))
      return Effect.gen(function*() {
        const runs = yield* Runs.Runs
        yield* runs.start({ agent: "clerk", input: "Go", runId: "r1", owner: "ada" })
        const early = yield* Effect.flip(Compensation.compensate({ runId: "r1" }))
        assert.strictEqual(early._tag, "RunNotEnded")
        yield* run
        const [send] = yield* Compensation.writes("r1")
        const refused = yield* Effect.flip(Compensation.compensate({ runId: "r1", writes: [send!.id] }))
        assert.strictEqual(refused._tag, "NotCompensable")
        assert.strictEqual((yield* Effect.flip(Compensation.writes("none")))._tag, "UnknownRun")
        assert.deepStrictEqual((yield* Compensation.compensate({ runId: "r1" })).map(brief), ["c1 send done"])
      }).pipe(Effect.provide(engine(clerk([])).pipe(Layer.provide(model))))
    })
  })
}
