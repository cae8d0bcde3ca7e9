/**
 * An approval in time, in a journaled run whose process ended during the resumption: its expiry before the next
 * execution changes nothing.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Agent, Approval, IdempotencyLedger, Journal, Recovery, Tool } from "@recourse/core"
import { boss, call, key, standard, text, tool, type Waits } from "../support/bookings.ts"
import { cuts, journalOf } from "../support/interruptedRuns.ts"

const Pay = (log: Array<string>, more: object = {}) =>
  Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => (log.push("pay"), "paid")),
    ...more
  } as never) as never as Tool.Tool<"pay", Schema.Struct<{}>, Schema.String, never, never>

const clerk = (tools: ReadonlyArray<unknown>) =>
  Agent.make(
    "a",
    { ...standard, approval: { timeToLive: "1 hour" }, instructions: "a", input: Schema.Struct({}), tools } as never
  ) as never as Waits

/** An approved write, and its place. */
const places: Readonly<Record<string, (log: Array<string>) => Waits>> = {
  "a write": (log) => clerk([Pay(log)]),
  "a write with a key": (log) => clerk([Pay(log, { idempotency: true })]),
  "a write that a tool calls": (log) => {
    const pay = Pay(log)
    return clerk([
      Tool.make("outer", { success: Schema.String, effects: "read", execute: () => pay.call }).pipe(
        Tool.onError(Recovery.escalate("ExecutionError") as never)
      )
    ])
  },
  "a write of an agent that is a tool": (log) => boss([tool(clerk([Pay(log)]), "outer")]) as never as Waits,
  "a write of one of several agents": (log) => Agent.all("w", [clerk([Pay(log)])]) as never as Waits
}

const stores = Layer.mergeAll(
  key,
  Layer.succeed(Approval.Resumptions, {
    claim: () => Effect.succeed({ isTakenOver: false, end: () => Effect.void })
  })
)

describe("an approval in time for a run's resumption", () => {
  for (const [name, agentOf] of Object.entries(places)) {
    for (
      const [next, decide] of [["approves again", Approval.approve], [
        "refuses now",
        (pending: Approval.PendingCall) => Approval.reject(pending, "no")
      ]] as const
    ) {
      it.effect(`holds in the next execution, else runs nothing: ${name}, a person ${next}`, () =>
        Effect.gen(function*() {
          for (const cut of cuts(8)) {
            const log: Array<string> = []
            const prompts: Array<string> = []
            const models = ScriptedModel.layer(({ prompt, tools }) => {
              prompts.push(JSON.stringify(prompt.content.at(-1)))
              return prompt.content.some(({ role }) => role === "tool")
                ? text("done")
                : call(tools[0]!, {}, { id: "p" })
            })
            yield* Effect.gen(function*() {
              const begun = yield* agentOf(log).start({}, { runId: "run_1" })
              assert(begun._tag === "Paused")
              let { pending, snapshot } = begun
              let decision = Approval.approve as (pending: Approval.PendingCall) => Approval.Decision
              // Each segment of a run has a journal of its own.
              for (let leg = 1; leg <= 3; leg++) {
                const { life } = journalOf()
                const resume = (journal: Journal.Journal) =>
                  Effect.exit(agentOf(log).resume(snapshot, pending.map(decision))).pipe(
                    Effect.provide(Layer.succeed(Journal.CurrentJournal, journal))
                  )
                if (leg === 1) {
                  yield* resume(life(cut).journal)
                  yield* TestClock.adjust("2 hours")
                }
                const hadPaid = log.length
                const exit = yield* resume(life().journal)
                assert(exit._tag === "Success", `${cut.about}: ${exit}`)
                const outcome = exit.value
                if (outcome._tag === "Completed") break
                assert.strictEqual(hadPaid, 0, `${cut.about}: it was paid, and a person is asked again`)
                ;({ pending, snapshot } = outcome)
                decision = decide
              }
            }).pipe(Effect.provide([stores, models, Layer.fresh(IdempotencyLedger.layerMemory)]))
            assert.isAtMost(log.length, 1, cut.about)
            const last = prompts.at(-1)!
            if (log.length === 1) assert.match(last, /paid|outcome_unknown|done/, cut.about)
          }
        }))
    }
  }
})
