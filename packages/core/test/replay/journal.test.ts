import { assert, describe, it } from "@effect/vitest"
import { Data, Effect, Exit, Layer, Schema } from "effect"
import { Agent, IdempotencyLedger, Journal, Recovery, type RunRecord, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { entriesIn } from "../support/interruptedRuns.ts"

class Cut extends Data.TaggedError("Cut") {}

/** The journal of a run over its executions. An execution ends at an entry: before it is durable, or behind it. */
const journal = () => {
  const kept = new Map<string, Schema.Json>()
  let lives = 0
  const life = (cut: { readonly at: number; readonly behind: boolean } | undefined): Journal.Journal => {
    const earlier = new Map(kept)
    let records = 0
    return {
      runId: "run_1",
      isResumed: lives++ > 0,
      elapsedBefore: 0,
      find: (kind, key) => earlier.get(`${kind} ${key}`),
      entries: entriesIn(earlier),
      record: (kind, key, value) =>
        Effect.suspend(() => {
          records++
          const isCut = cut !== undefined && records >= cut.at
          if (!isCut || (records === cut.at && cut.behind)) {
            assert.isFalse(kept.has(`${kind} ${key}`))
            kept.set(`${kind} ${key}`, JSON.parse(JSON.stringify(value)) as Schema.Json)
          }
          return isCut ? Effect.die(new Cut()) : Effect.void
        }),
      claim: (entry) => `${entry.slice(0, 32)}`
    }
  }
  return { kept, life }
}

const seat = { parameters: Schema.Struct({ seat: Schema.String }), success: Schema.String }

/** Reads, a write without a key, one with a key, a write within another tool, and an agent that writes. */
const office = () => {
  const done = {
    writes: [] as Array<string>,
    keys: [] as Array<string | undefined>,
    prompts: [] as Array<string>,
    told: ""
  }
  const Look = Tool.make("look", {
    success: Schema.Struct({ at: Schema.Date }),
    effects: "read",
    execute: () => Effect.succeed({ at: new Date(5) })
  })
  const Book = Tool.make("book", {
    ...seat,
    effects: "write",
    execute: ({ seat }) => Effect.sync(() => (done.writes.push(seat), `booked ${seat}`))
  })
  const Pay = Tool.make("pay", {
    parameters: Schema.Struct({ amount: Schema.Int }),
    success: Schema.Int,
    effects: "write",
    idempotency: true,
    execute: ({ amount }) =>
      Effect.map(ToolCall.ToolCall, ({ idempotencyKey }) => (done.keys.push(idempotencyKey), amount))
  })
  const Trip = Tool.make("trip", {
    ...seat,
    effects: "read",
    execute: ({ seat }) =>
      Book.call.pipe(
        Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "x", arguments: { seat } })),
        Effect.catchTag("OutcomeUnknown", () => Effect.succeed("nobody knows")),
        Effect.orDie
      )
  })
  const Request = Schema.Struct({ text: Schema.String })
  const ask = { parameters: Request, success: Schema.String, description: "Books a seat" }
  const clerk = Agent.make("clerk", { input: Request, tools: [Book], defaults: { onError: Recovery.keepGoing } })
  const chief = Agent.make("chief", {
    tools: [Look, Book, Pay, Trip, clerk.pipe(Agent.asTool("clerk", ask))],
    defaults: { onError: Recovery.keepGoing }
  })
  const answers = (tools: ReadonlyArray<string>, turn: number) =>
    tools.length === 1
      ? [ScriptedModel.call("book", { seat: "3C" }, { id: "b1" }), ScriptedModel.text("the clerk has booked")][turn]
      : [
        ScriptedModel.calls([
          { name: "look", params: {}, id: "c1" },
          { name: "book", params: { seat: "1A" }, id: "c2" },
          { name: "pay", params: { amount: 7 }, id: "c3" }
        ]),
        ScriptedModel.calls([
          { name: "trip", params: { seat: "2B" }, id: "c4" },
          { name: "clerk", params: { text: "please" }, id: "c5" }
        ]),
        ScriptedModel.text("done")
      ][turn]
  const model = ScriptedModel.layer(({ prompt, tools }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    done.told += JSON.stringify(prompt.content.at(-1))
    done.prompts.push(`${tools.length === 1 ? "clerk" : "chief"} ${turn}`)
    return answers(tools, turn) ?? ScriptedModel.text("?")
  })
  const live = (journal: Journal.Journal | undefined) =>
    chief.report("go", { runId: "run_1" }).pipe(Effect.provideService(Journal.CurrentJournal, journal))
  return { done, live, model }
}

const lasting = <A>(use: (world: ReturnType<typeof office>) => Effect.Effect<A, never, never>) => use(office())

const summary = ({ executed, transcript, usage }: RunRecord.RunReport<string, unknown>) => ({
  usage,
  executed: executed.map(({ callId, tool }) => `${tool} ${callId}`).toSorted(),
  messages: transcript.content.map(({ role }) => role)
})

const both = <A>(model: Layer.Layer<A>) => Layer.merge(model, Layer.fresh(IdempotencyLedger.layerMemory))

describe("a journal", () => {
  const cuts = Array.from({ length: 12 }, (_, at) => [false, true].map((behind) => ({ at: at + 1, behind }))).flat()

  for (const cut of cuts) {
    it.effect(`a run interrupted ${cut.behind ? "behind" : "before"} record ${cut.at} recovers without repeating calls`, () =>
      lasting(({ done, live, model }) =>
        Effect.gen(function*() {
          const whole = yield* lasting(({ live, model }) =>
            live(undefined).pipe(Effect.provide(both(model)), Effect.scoped)
          )
          const { kept, life } = journal()
          const first = yield* live(life(cut))
          const answered = [...kept.keys()].filter((key) => key.startsWith("model")).length
          assert.isTrue(Exit.isFailure(first.exit))
          const asked = done.prompts.length
          const last = yield* live(life(undefined))
          assert.deepEqual(last.exit, Exit.succeed("done"))
          // No answer that is recorded is asked for again.
          assert.strictEqual(answered + (done.prompts.length - asked), 5)
          assert.strictEqual(new Set(done.prompts).size, 5)
          // No write begins twice: one without a key as the journal has its intent, one with a key as the ledger has its outcome.
          assert.strictEqual(new Set(done.writes).size, done.writes.length)
          assert.strictEqual(done.keys.length, 1)
          assert.deepEqual(summary(last), summary(whole))
          // A started write that was not done is reported as unknown to its requester.
          const unknown = ["1A", "2B", "3C"].filter((seat) => !done.writes.includes(seat))
          if (unknown.length > 0) assert.match(done.told, unknown[0] === "2B" ? /nobody knows/ : /outcome_unknown/)
          // A third execution replays everything.
          const before = [done.prompts.length, done.writes.length, done.keys.length]
          const again = yield* live(life(undefined))
          assert.deepEqual(again.exit, last.exit)
          assert.deepEqual(summary(again), summary(last))
          assert.deepEqual(again.transcript, last.transcript)
          assert.deepEqual([done.prompts.length, done.writes.length, done.keys.length], before)
        }).pipe(Effect.provide(both(model)))
      ))
  }
})
