/**
 * A waiting inner agent of a journaled run is abandoned, and compensated over executions that are interrupted at any
 * entry.
 */
import { assert, it } from "@effect/vitest"
import { Data, Effect, Fiber, Layer, type Schema } from "effect"
import { Agent, Journal } from "@recourse/core"
import { fails, later, type Log, running, type Runs, waits, watched } from "../support/bookings.ts"
import { entriesIn } from "../support/interruptedRuns.ts"

class Cut extends Data.TaggedError("Cut") {}

/** Executions of one run, each with all earlier entries. */
const lives = () => {
  const kept = new Map<string, Schema.Json>()
  let begun = 0
  return (cutAt: number): Journal.Journal => {
    const earlier = new Map(kept)
    let records = 0
    return {
      runId: "r",
      isResumed: begun++ > 0,
      elapsedBefore: 0,
      find: (kind, key) => earlier.get(`${kind} ${key}`),
      entries: entriesIn(earlier),
      record: (kind, key, value) =>
        Effect.suspend(() => {
          if (++records >= cutAt) return Effect.die(new Cut())
          kept.set(`${kind} ${key}`, value)
          return Effect.void
        }),
      claim: (entry) => entry
    }
  }
}

const live = (agent: unknown, journal: Journal.Journal, seen: ReturnType<typeof watched>) =>
  running(
    (agent as Runs).run({}, { runId: "r" }).pipe(Effect.provide(Layer.succeed(Journal.CurrentJournal, journal))),
    seen
  )

it.effect("is compensated once, and emitted, or reported to a person", () =>
  Effect.gen(function*() {
    for (let cutAt = 1; cutAt < 12; cutAt++) {
      const log: Log = []
      const seen = watched()
      const agent = Agent.all("w", [waits(log, {}), fails])
      const life = lives()
      yield* live(agent, life(cutAt), seen)
      yield* live(agent, life(Infinity), seen)
      const count = (what: string) => log.filter((one) => one === what).length
      assert.isAtMost(count("unbook"), 1, `cut at ${cutAt}: ${log}`)
      assert.isAtLeast(count("book"), 1)
      // One that was cut off between an undoing and its record is a person's to look at.
      assert.isAtLeast(seen.compensations().length, 1, `cut at ${cutAt}: ${log}`)
    }
  }))

it.effect("is not compensated if only an execution ends", () =>
  Effect.gen(function*() {
    const log: Log = []
    const seen = watched()
    const agent = Agent.all("w", [waits(log, {}), later(Effect.never)])
    yield* running(
      Effect.flatMap(
        Effect.forkChild((agent as unknown as Runs).run({}, { runId: "r" })),
        (fiber) => Effect.delay(Fiber.interrupt(fiber), "5 seconds")
      ).pipe(Effect.provide(Layer.succeed(Journal.CurrentJournal, lives()(Infinity)))),
      seen
    )
    assert.deepStrictEqual(log, ["book"])
    assert.isTrue(seen.events.some(({ _tag }) => _tag === "ApprovalRequested"))
    assert.deepStrictEqual(seen.compensations(), [])
  }))
