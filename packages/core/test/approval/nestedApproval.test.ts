import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Agent, Approval, Audit, Policy, Recovery, type RunRecord } from "@recourse/core"
import { collect, lastResults } from "../support/kit.ts"
import { Note } from "../support/refundTools.ts"
import {
  approved,
  Ask,
  ask,
  desk,
  done,
  ids,
  nameOf,
  one,
  paused,
  process,
  refund,
  started,
  stored,
  type Turns
} from "../support/askingAgents.ts"

const { call, calls, text } = ScriptedModel

const resumed = (
  turns: Readonly<Record<string, Turns>>,
  log: Array<string>,
  snapshot: Approval.Snapshot,
  decisions: ReadonlyArray<Approval.Decision>
) => process(turns, desk(log).resume(stored(snapshot), decisions))

describe("an agent that is a tool", () => {
  it.effect("pauses the outer run, which resumes when approved without repetitions", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* started(one, log)
      assert.deepStrictEqual([...log].sort(), ["note first", "note sibling"])
      assert.deepStrictEqual(ids(pause), ["a/r"])
      const [pending] = pause.pending
      assert.deepStrictEqual([pending?.tool, pending?.arguments], ["refund", { order: "A", amount: 500 }])
      assert.deepStrictEqual(pause.snapshot.round?.nested?.map(({ arguments: args, callId }) => [callId, args]), [
        ["a", { task: "task A" }]
      ])

      const { of, outcome, requests } = yield* resumed(one, log, pause.snapshot, [Approval.approve(pending!)])
      assert.deepStrictEqual(outcome, done)
      assert.strictEqual(requests.length, 2)
      assert.deepStrictEqual(
        lastResults(of("task A")[0]!.prompt).map(({ id, result }) => [id, result]),
        [["n1", "noted"], ["r", { refunded: 500 }]]
      )
      assert.deepStrictEqual(
        lastResults(of("desk")[0]!.prompt).map(({ id, result }) => [id, result]),
        [["a", "refunded A"], ["n", "noted"]]
      )
      assert.deepStrictEqual([...log].sort(), ["note first", "note sibling", "refund A 500"])
    }))

  it.effect("its calls can be edited, rejected and answered", () =>
    Effect.gen(function*() {
      const results = (decide: (call: Approval.PendingCall) => Approval.Decision) =>
        Effect.gen(function*() {
          const log: Array<string> = []
          const pause = yield* started(one, log)
          const { of, outcome } = yield* resumed(one, log, pause.snapshot, [decide(pause.pending[0]!)])
          assert.deepStrictEqual(outcome, done)
          const result = lastResults(of("task A")[0]!.prompt).find(({ id }) => id === "r")
          return [result?.result, log.filter((line) => line.startsWith("refund"))] as const
        })
      assert.deepStrictEqual(
        yield* results((call) => Approval.edit(call, { order: "B", amount: 90 })),
        [{ refunded: 90 }, ["refund B 90"]]
      )
      assert.deepStrictEqual(
        yield* results((call) => Approval.respond(call, { refunded: 1 })),
        [{ refunded: 1 }, []]
      )
      const [rejected, log] = yield* results((call) => Approval.reject(call, "at most 100"))
      assert.include(JSON.stringify(rejected), "permission_denied")
      assert.include(JSON.stringify(rejected), "at most 100")
      assert.deepStrictEqual(log, [])
    }))

  it.effect("a decision that does not fit is refused before anything runs", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* started(one, log)
      const [pending] = pause.pending
      const refused = (decisions: ReadonlyArray<Approval.Decision>) =>
        Effect.map(Effect.flip(resumed(one, log, pause.snapshot, decisions)), (error) => {
          assert.strictEqual(error._tag, "DecisionRefused")
          return error._tag === "DecisionRefused" ? [error.callId, error.reason] : []
        })
      const approval = Approval.approve(pending!)
      assert.deepStrictEqual(yield* refused([Approval.respond(pending!, "no")]), ["a/r", "invalid_result"])
      assert.deepStrictEqual(yield* refused([{ ...approval, callId: "r" }]), ["r", "unknown_call"])
      assert.deepStrictEqual(yield* refused([{ ...approval, callId: "a" }]), ["a", "unknown_call"])
      assert.deepStrictEqual(yield* refused([{ ...approval, argumentsHash: "0" }]), ["a/r", "other_arguments"])
      assert.deepStrictEqual(yield* refused([approval, approval]), ["a/r", "twice"])
      assert.strictEqual((yield* resumed(one, log, pause.snapshot, [approval])).outcome._tag, "Completed")
    }))

  const two: Readonly<Record<string, Turns>> = {
    desk: [
      calls([ask("A", "a"), { name: "note", params: { text: "sibling" }, id: "n" }, ask("B", "b")]),
      text("all done")
    ],
    "task A": [refund("A", 500), text("refunded A")],
    "task B": [refund("B", 600), text("refunded B")]
  }

  it.effect("two wait next to an executed call; the undecided one stays pending", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const first = yield* started(two, log)
      assert.deepStrictEqual(ids(first), ["a/r", "b/r"])
      assert.deepStrictEqual(log, ["note sibling"])

      const { outcome, requests } = yield* resumed(two, log, first.snapshot, [Approval.approve(first.pending[1]!)])
      const second = paused(outcome)
      assert.deepStrictEqual(second.pending, [first.pending[0]!])
      assert.deepStrictEqual(second.snapshot.round?.nested, first.snapshot.round?.nested?.slice(0, 1))
      assert.deepStrictEqual(requests.map(nameOf), ["task B"])
      assert.deepStrictEqual(log, ["note sibling", "refund B 600"])

      const last = yield* resumed(two, log, second.snapshot, [Approval.approve(second.pending[0]!)])
      assert.deepStrictEqual(last.outcome, done)
      assert.deepStrictEqual(
        lastResults(last.of("desk")[0]!.prompt).map(({ id, result }) => [id, result]),
        [["a", "refunded A"], ["n", "noted"], ["b", "refunded B"]]
      )
      assert.deepStrictEqual(log, ["note sibling", "refund B 600", "refund A 500"])
    }))

  it.effect("two calls of one agent wait, decided one after the other", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const turns: Readonly<Record<string, Turns>> = {
        desk: [calls([ask("A", "a")]), text("all done")],
        "task A": [
          calls([
            { name: "refund", params: { order: "1", amount: 200 }, id: "r1" },
            { name: "refund", params: { order: "2", amount: 300 }, id: "r2" }
          ]),
          text("both")
        ]
      }
      const { events, layer } = collect()
      const records: Array<string> = []
      const audit = Audit.layer(({ callId, decision, path }) =>
        Effect.sync(() => records.push(`${decision} ${path.join(".")} ${callId}`))
      )
      const watched = Layer.merge(layer, audit)
      const first = yield* started(turns, log).pipe(Effect.provide(watched))
      assert.deepStrictEqual(ids(first), ["a/r1", "a/r2"])
      const again = yield* resumed(turns, log, first.snapshot, [
        Approval.approve(first.pending[0]!)
      ]).pipe(Effect.provide(watched))
      const second = paused(again.outcome)
      assert.deepStrictEqual(second.pending, [first.pending[1]!])
      assert.strictEqual(again.requests.length, 0)
      const last = yield* resumed(turns, log, second.snapshot, [
        Approval.approve(second.pending[0]!)
      ]).pipe(Effect.provide(watched))
      assert.deepStrictEqual(last.outcome, done)
      assert.deepStrictEqual(log, ["refund 1 200", "refund 2 300"])

      // Each was asked for, recorded and answered once, by the agent that it is a call of.
      const asked = events.flatMap((event) => event._tag === "ApprovalRequested" ? [event] : [])
      assert.deepStrictEqual(asked.map(({ callId, path }) => `${path.join(".")} ${callId}`).sort(), [
        "desk.clerk r1",
        "desk.clerk r2"
      ])
      assert.deepStrictEqual(records.slice(0, 2).sort(), [
        "approval_requested desk.clerk r1",
        "approval_requested desk.clerk r2"
      ])
      assert.deepStrictEqual(records.slice(2), ["approved desk.clerk r1", "approved desk.clerk r2"])
      const results = events.flatMap((event) => event._tag === "ToolResult" ? [event.callId] : [])
      assert.deepStrictEqual(results, ["r1", "r2", "a"])
    }))

  it.effect("may pause again and again", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const turns: Readonly<Record<string, Turns>> = {
        desk: [calls([ask("A", "a")]), text("all done")],
        "task A": [refund("1", 200, "r1"), refund("2", 300, "r2"), text("both")]
      }
      const first = yield* started(turns, log)
      const second = paused((yield* resumed(turns, log, first.snapshot, [Approval.approve(first.pending[0]!)])).outcome)
      assert.deepStrictEqual([ids(first), ids(second)], [["a/r1"], ["a/r2"]])
      assert.deepStrictEqual(log, ["refund 1 200"])
      const { outcome } = yield* resumed(turns, log, second.snapshot, [Approval.approve(second.pending[0]!)])
      assert.deepStrictEqual(outcome, done)
      assert.deepStrictEqual(log, ["refund 1 200", "refund 2 300"])
    }))

  it.effect("an approval that comes too late asks again", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const first = yield* started(one, log)
      yield* TestClock.adjust("61 minutes")
      const late = yield* resumed(one, log, first.snapshot, [Approval.approve(first.pending[0]!)])
      const second = paused(late.outcome)
      assert.deepStrictEqual(second.pending.map(({ callId, code }) => [callId, code]), [["a/r", "approval_expired"]])
      assert.strictEqual(late.requests.length, 0)
      assert.notInclude(log, "refund A 500")
      const { outcome } = yield* resumed(one, log, second.snapshot, [Approval.approve(second.pending[0]!)])
      assert.deepStrictEqual(outcome, done)
      assert.include(log, "refund A 500")
    }))

  it.effect("pauses through two levels", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const nested = () =>
        Agent.make("desk", {
          instructions: "desk",
          input: Schema.Struct({ what: Schema.String }),
          tools: [Ask(log), Note(log)],
          defaults: { onError: Recovery.standard }
        }).pipe(
          Agent.asTool("ask_desk", {
            description: "Asks",
            parameters: Schema.Struct({ what: Schema.String }),
            success: Schema.String
          })
        )
      const top = () =>
        Agent.make("boss", { instructions: "boss", tools: [nested()], defaults: { onError: Recovery.standard } })
      const turns: Readonly<Record<string, Turns>> = {
        ...two,
        boss: [call("ask_desk", { what: "it" }, { id: "d" }), text("well")]
      }
      const first = paused((yield* process(turns, top().start("go"))).outcome)
      assert.deepStrictEqual(ids(first), ["d/a/r", "d/b/r"])
      const [a, b] = first.pending
      const invalid = yield* Effect.flip(
        process(turns, top().resume(stored(first.snapshot), [Approval.approve(a!), Approval.respond(b!, "no")]))
      )
      assert.deepStrictEqual(
        invalid._tag === "DecisionRefused" ? [invalid.callId, invalid.reason] : invalid._tag,
        ["d/b/r", "invalid_result"]
      )
      assert.deepStrictEqual(log, ["note sibling"])
      const second = paused(
        (yield* process(turns, top().resume(stored(first.snapshot), [Approval.approve(a!)]))).outcome
      )
      assert.deepStrictEqual(ids(second), ["d/b/r"])
      const last = yield* process(
        turns,
        top().resume(stored(second.snapshot), [Approval.reject(second.pending[0]!, "no")])
      )
      assert.deepStrictEqual(last.outcome, new Approval.Completed({ output: "well" }))
      assert.deepStrictEqual(log, ["note sibling", "refund A 500"])
      assert.deepStrictEqual(lastResults(last.of("boss")[0]!.prompt).map(({ result }) => result), ["all done"])
    }))

  it.effect("counts in the account of the run around it once", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* started(one, log)
      const { budget, executed, usage } = pause.snapshot
      // One turn of each agent; the tool's call, the sibling's and the note.
      assert.deepStrictEqual([usage["turns"], usage["toolCalls"]], [2, 3])
      assert.deepStrictEqual([budget.used["turns"], budget.used["toolCalls"]], [2, 3])
      assert.strictEqual(executed.length, 3)
      let record: RunRecord.RunRecord | undefined
      const { outcome } = yield* process(
        one,
        desk(log).proceed(
          { snapshot: stored(pause.snapshot), decisions: [Approval.approve(pause.pending[0]!)] },
          {
            streaming: false,
            onRecord: (ended) => {
              record = ended()
            }
          }
        )
      )
      assert.deepStrictEqual(outcome, done)
      assert.deepStrictEqual([record?.usage.turns, record?.usage.toolCalls], [4, 4])
      assert.deepStrictEqual(record?.executed.map(({ outcome, tool }) => `${tool} ${outcome}`).sort(), [
        "ask_clerk success",
        "note success",
        "note success",
        "refund success"
      ])
      // A cap of the exact need holds, and one less does not.
      const capped = (toolCalls: number) =>
        Effect.gen(function*() {
          const log: Array<string> = []
          const agent = () =>
            Agent.make("desk", {
              instructions: "desk",
              tools: [Ask(log), Note(log)],
              defaults: { onError: Recovery.standard },
              budget: { turns: 4, toolCalls }
            })
          const pause = paused((yield* process(one, agent().start("go"))).outcome)
          const exit = yield* Effect.exit(process(one, agent().resume(...approved(pause))))
          return [Exit.isSuccess(exit), log.includes("refund A 500")]
        })
      assert.deepStrictEqual(yield* capped(4), [true, true])
      assert.deepStrictEqual(yield* capped(3), [false, false])
    }))

  it.effect("resumes streamed", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* started(one, log)
      const { outcome: events } = yield* process(
        one,
        Stream.runCollect(desk(log).resumeStream(...approved(pause)))
      )
      const texts = events.flatMap((event) =>
        event._tag === "TextDelta" ? [`${event.path.at(-1)}: ${event.delta}`] : []
      )
      assert.deepStrictEqual(texts, ["clerk: refunded ", "clerk: A", "desk: all ", "desk: done"])
      assert.strictEqual(events.filter((event) => event._tag === "ApprovalRequested").length, 0)
    }))
})

describe("a call that waits for an agent", () => {
  it.effect("may still be denied; its inner calls are withdrawn then", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      let closed = false
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [Ask(log), Note(log)],
          policies: [Policy.make("closed", () => closed ? Policy.deny("closed by now") : Policy.allow)],
          defaults: { onError: Recovery.standard }
        })
      const pause = paused((yield* process(one, agent().start("go"))).outcome)
      closed = true
      const { events, layer } = collect()
      const { of, outcome } = yield* process(one, agent().resume(...approved(pause))).pipe(
        Effect.provide(layer)
      )
      assert.deepStrictEqual(outcome, done)
      // The clerk has made a note before it came to wait: that is not called denied.
      assert.include(JSON.stringify(lastResults(of("desk")[0]!.prompt)[0]), "outcome_unknown")
      assert.notInclude(log, "refund A 500")
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolResult" ? [[event.path.join("."), event.callId]] : []),
        [["desk.clerk", "r"], ["desk", "a"]]
      )
    }))
})
