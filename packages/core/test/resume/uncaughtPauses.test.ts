/**
 * A waiting run whose caller cannot wait: it fails with its snapshot and its record, and a decision that does not fit
 * names its call.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema, Stream } from "effect"
import { Prompt } from "effect/ai"
import { Agent, type AgentEvent, Approval, Quarantine, RunRecord, Tool } from "@recourse/core"
import { boss, call, key, type Log, models, pay, standard, text, tool, type Waits } from "../support/bookings.ts"

const paying = (log: Log) =>
  Agent.make("paying", { ...standard, instructions: "paying", input: Schema.Unknown, tools: [pay(log)] })

const pays = [call("pay", {}, { id: "p" }), call("pay", {}, { id: "q" }), text("paid")] as const
const turns = { boss: [call("ask", {}, { id: "a" }), text("done")], paying: pays } as const

const forms: Readonly<Record<string, readonly [(log: Log) => Waits, string]>> = {
  "an agent": [(log) => paying(log) as never, ""],
  "an agent that is made of agents": [(log) => Agent.all("w", [paying(log)]) as never, "paying/"],
  "an agent whose tool waits": [(log) => boss([tool(paying(log), "ask")]) as never, "a/"]
}

const stored = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A
const provided = <A, E>(effect: Effect.Effect<A, E, never>) => Effect.provide(effect, [models(turns), key])
const approvals = (pending: ReadonlyArray<Approval.PendingCall>) => pending.map((one) => Approval.approve(one))

for (const [name, [form, within]] of Object.entries(forms)) {
  describe(`${name} that waits`, () => {
    const ways: Readonly<Record<string, (agent: Waits) => Effect.Effect<unknown, unknown, never>>> = {
      run: (agent) => agent.run({}),
      stream: (agent) => Stream.runDrain(agent.stream({}))
    }
    for (const [way, run] of Object.entries(ways)) {
      it.effect(`fails by ${way}, and resumes from the snapshot of its failure`, () =>
        Effect.gen(function*() {
          const log: Log = []
          const exit = yield* provided(Effect.exit(run(form(log))))
          const { error, record } = Exit.isFailure(exit)
            ? {
              error: exit.cause.reasons.flatMap((reason) => reason._tag === "Fail" ? [reason.error] : [])[0],
              record: RunRecord.fromCause(exit.cause)
            }
            : assert.fail("it waits")
          assert.instanceOf(error, Approval.ApprovalRequired)
          const { agent, snapshot } = error as Approval.ApprovalRequired
          assert.strictEqual(agent, form([]).name)
          assert.strictEqual(record._tag, "Some")
          assert.deepStrictEqual(snapshot.round?.pending.map(({ callId }) => callId), [`${within}p`])
          const outcome = yield* provided(form(log).resume(stored(snapshot), approvals(snapshot.round?.pending ?? [])))
          assert.strictEqual(outcome._tag, "Paused")
          assert.deepStrictEqual(log, ["pay"])
        }))
    }

    it.effect("fails if a resumed stream waits again", () =>
      Effect.gen(function*() {
        const log: Log = []
        const paused = yield* provided(form(log).start({}))
        if (paused._tag !== "Paused") return assert.fail("it waits")
        const events: Array<AgentEvent.AgentEvent["_tag"]> = []
        const again = yield* provided(Effect.flip(
          Stream.runForEach(
            form(log).resumeStream(stored(paused.snapshot), approvals(paused.pending)),
            ({ _tag }) => Effect.sync(() => void events.push(_tag))
          )
        ))
        assert.instanceOf(again, Approval.ApprovalRequired)
        assert.deepStrictEqual([events[0], events.at(-1)], ["RunStarted", "RunFinished"])
        const { snapshot } = again as Approval.ApprovalRequired
        const outcome = yield* provided(form(log).resume(stored(snapshot), approvals(snapshot.round?.pending ?? [])))
        assert.strictEqual(outcome._tag, "Completed")
        assert.deepStrictEqual(log, ["pay", "pay"])
      }))

    it.effect("refuses an unfit decision by its call's id, running no call", () =>
      Effect.gen(function*() {
        const log: Log = []
        const paused = yield* provided(form(log).start({}))
        if (paused._tag !== "Paused") return assert.fail("it waits")
        const decisions = paused.pending.map((one) => ({ ...Approval.approve(one), argumentsHash: "00" }))
        const refused = yield* provided(Effect.flip(form(log).resume(stored(paused.snapshot), decisions)))
        assert.deepInclude(refused, { _tag: "DecisionRefused", callId: `${within}p` })
        assert.deepStrictEqual(log, [])
        // The snapshot is free still.
        const outcome = yield* provided(form(log).resume(stored(paused.snapshot), approvals(paused.pending)))
        assert.strictEqual(outcome._tag, "Paused")
      }))
  })
}

describe("an agent that has read untrusted text", () => {
  const note = (log: Log) =>
    Tool.make("note", { effects: "write", execute: () => Effect.sync(() => void log.push("note")) })
  const clerk = (tools: ReadonlyArray<unknown>) =>
    boss(tools, {
      input: Schema.Unknown,
      prompt: () => Quarantine.taint(Prompt.make("x"), ["fetch"])
    }) as unknown as Waits
  const notes = { boss: [call("note", {}, { id: "n" }), call("note", {}, { id: "m" }), text("noted")] } as const

  it.effect("asks if its type allows a pause: fails with its questions", () =>
    Effect.gen(function*() {
      const log: Log = []
      const error = yield* Effect.flip(clerk([note(log), pay(log)]).run({})).pipe(
        Effect.provide([models(notes), key])
      )
      assert.instanceOf(error, Approval.ApprovalRequired)
      assert.deepStrictEqual(log, [])
    }))

  it.effect("asks again in a resumed stream, though its type has no pause", () =>
    Effect.gen(function*() {
      const log: Log = []
      const agent = clerk([note(log)])
      const again = yield* Effect.gen(function*() {
        const paused = yield* agent.start({})
        assert(paused._tag === "Paused")
        return yield* Effect.flip(
          Stream.runDrain(agent.resumeStream(paused.snapshot, approvals(paused.pending)) as Stream.Stream<unknown>)
        )
      }).pipe(Effect.provide([models(notes), key]))
      assert.instanceOf(again, Approval.ApprovalRequired)
      assert.deepStrictEqual(log, ["note"])
    }))
})
