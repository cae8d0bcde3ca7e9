/** An agent that undoes what it has done, and waits within a run that goes on, or ends, without it, is undone: once, and told. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import {
  isWhole,
  type Log,
  running,
  type Runs,
  undoneOnce,
  type Waits,
  waits,
  type Watched,
  watched
} from "./bookings.ts"
import { type Case, cases } from "./leftWaiting.ts"

describe("an agent that waits, where the run around it goes on or ends without it, is undone", () => {
  const go = ({ agent, isInterrupted, turns }: Case, a: unknown, seen: Watched) => {
    const ran = (agent(a as Waits) as Runs).run({})
    return running(
      isInterrupted === true
        ? Effect.flatMap(
          Effect.forkChild(ran, { startImmediately: true }),
          (fiber) => Effect.andThen(Effect.delay(Fiber.interrupt(fiber), "1 second"), Fiber.join(fiber))
        )
        : ran,
      seen,
      turns
    )
  }
  const all = Object.entries(cases)
  it.effect.each(all)("%s", ([, one]) =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const exit = yield* go(one, waits(log, {}), seen)
      assert.strictEqual(Exit.isSuccess(exit), one.isGood === true)
      undoneOnce(log, seen)
    }))

  const others = { "it undoes nothing": undefined, "it undoes failures only": { after: ["failure"] } } as const
  for (const [name, compensation] of Object.entries(others)) {
    it.effect.each(all)(`where ${name}, nothing more is told: %s`, ([, one]) =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        yield* go(one, waits(log, compensation), seen)
        assert.deepStrictEqual(log, ["book"])
        assert.deepStrictEqual(seen.compensations(), [])
        assert.isFalse(seen.events.some((event) => event._tag === "AgentStarted" && event.resumed))
        isWhole(seen)
      }))
  }
})
