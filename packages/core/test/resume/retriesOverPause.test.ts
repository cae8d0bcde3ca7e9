/**
 * The call of an agent that is retried over a pause, in a run interrupted after it: each execution makes the remaining
 * attempts, and no other.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive } from "@recourse/testing"
import { Effect, Exit, Layer, Redacted, Schedule } from "effect"
import { type AgentEvent, Approval, Journal, Recovery } from "@recourse/core"
import { type CutAt, cuts, journalOf } from "../support/interruptedRuns.ts"
import { collect } from "../support/kit.ts"
import { numberedClerk, plain } from "../support/numberedClerk.ts"

const key = Effect.provideService(Approval.SnapshotKey, Redacted.make("a key of 32 bytes for signing ok!"))

interface Lived {
  readonly outcome: Approval.Outcome<string> | undefined
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
}

/** The owner of the journal ensures one resumption of a snapshot at a time. */
const again = Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) })

/** Behaviour of each run of the clerk: the second one waits, and fails once it resumes. */
const runs = [["fail"], ["ask", "fail"], ["fail"], []]

const program = (effects: "read" | "write") => {
  const world = { paid: 0 }
  /** Starts, or resumes a snapshot, with a journal of its own. */
  const lived = (journal: Journal.Journal, from?: Approval.Paused) => {
    const { agent, model } = numberedClerk({
      began: from === undefined ? 0 : 2,
      recovered: Recovery.retry(
        { times: 3, schedule: Schedule.spaced("1 minute"), while: () => true } as never
      ) as never,
      runs: (number) => runs[number - 1]!,
      tools: [
        plain("ask", () => Effect.sync(() => `paid ${++world.paid}`), { effects, needsApproval: true }),
        plain("fail", () => Effect.fail("no"))
      ]
    })
    const { events, layer } = collect()
    const done = from === undefined
      ? agent.start("go", { runId: "run_1" })
      : agent.resume(from.snapshot, from.pending.map((call) => Approval.approve(call)))
    return Drive.drive(
      Effect.exit(done).pipe(
        Effect.map((exit) => ({ outcome: Exit.isSuccess(exit) ? exit.value : undefined, events })),
        Effect.provide([model, layer, again]),
        Effect.provideService(Journal.CurrentJournal, journal),
        key
      ) as Effect.Effect<Lived>,
      { step: "1 second" }
    )
  }
  return { lived, world }
}

const ends = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) =>
    (event._tag === "ToolAttemptFailed" || event._tag === "ToolAttemptSucceeded") && event.callId === "c"
      ? [`${event._tag.slice("ToolAttempt".length)} ${event.attempt}`]
      : []
  )

describe("the call of an agent that is retried over a pause", () => {
  it.effect.each(["read", "write"] as const)(
    "has the attempts that are lawful, in each execution: a %s that asks",
    (effects) =>
      Effect.gen(function*() {
        const begun = Effect.gen(function*() {
          const { lived, world } = program(effects)
          const { events, outcome } = yield* lived(journalOf().life().journal)
          assert.deepStrictEqual(ends(events), ["Failed 1"])
          if (outcome?._tag !== "Paused") return assert.fail(outcome?._tag)
          const { kept, life } = journalOf()
          return { kept, world, live: (cut?: CutAt) => lived(life(cut).journal, outcome) }
        })
        // An agent that has written is not repeated.
        const expected = effects === "write" ? ["Failed 2"] : ["Failed 2", "Failed 3", "Succeeded 4"]
        const whole = yield* begun
        const { events, outcome } = yield* whole.live()
        assert.strictEqual(outcome?._tag, "Completed")
        assert.deepStrictEqual(ends(events), expected)
        for (const cut of cuts(whole.kept.size)) {
          const { live, world } = yield* begun
          yield* live(cut)
          const { events, outcome } = yield* live()
          assert.strictEqual(outcome?._tag, "Completed", cut.about)
          const told = ends(events)
          assert.deepStrictEqual(told, expected.slice(expected.length - told.length), cut.about)
          if (effects === "write") assert.isAtMost(world.paid, 1, cut.about)
        }
      })
  )
})
