/**
 * An inner agent of a journaled run, running or waiting, that the run resumes or ends without: it is compensated once,
 * and not if only an execution ends.
 */

import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { Agent, Journal, Tool, ToolError } from "@recourse/core"
import {
  book,
  boss,
  both,
  call,
  isWhole,
  later,
  type Log,
  running,
  type Runs,
  Slow,
  text,
  tool,
  undoneOnce,
  type Waits,
  waits,
  watched
} from "../support/bookings.ts"
import { journalOf } from "../support/interruptedRuns.ts"
import { type Case, cases } from "../support/abandonedAgents.ts"
import { atWork, journaled, named, works } from "../support/journaledAgents.ts"

const states = {
  "is at work": { agent: works, turns: { a: atWork } },
  waits: {
    agent: (log: Log, compensation: object | undefined) => waits(log, compensation) as unknown as Waits,
    turns: {}
  }
} as const

/** Ends of a running agent too. */
const places: ReadonlyArray<readonly [string, Case]> = [
  ...Object.entries(cases).filter(([name]) =>
    !name.startsWith("interactive") && name !== "an agent that is a tool, called by another tool"
  ),
  ["all within all: the run is interrupted", {
    agent: (a) => Agent.all("v", [Agent.all("w", [a, later(Effect.never)]) as never, later(Effect.never, "y")]),
    isInterrupted: true
  }],
  ["all within an agent that is a tool: the run is interrupted", {
    agent: (a) => boss([tool(Agent.all("w", [a, later(Effect.never)]), "w"), Slow]),
    turns: { boss: [both("w", "slow")] },
    isInterrupted: true
  }]
]

for (const [state, { agent, turns }] of Object.entries(states)) {
  describe(`an agent that ${state}`, () => {
    for (const [name, { agent: around, isInterrupted, turns: others }] of places) {
      const ends = isInterrupted === true
      const play = (log: Log, compensation: object | undefined, cancels = false) => {
        const seen = watched()
        let isCancelled = false
        const ran = (around(agent(log, compensation) as never) as Runs).run({}, named)
        const stopped = Effect.flatMap(
          Effect.forkChild(ran, { startImmediately: true }),
          (fiber) =>
            Effect.gen(function*() {
              yield* Effect.sleep("1 second")
              isCancelled = cancels
              yield* Fiber.interrupt(fiber)
              return yield* Fiber.join(fiber)
            })
        )
        return Effect.map(
          running(journaled(ends ? stopped : ran, cancels ? () => isCancelled : undefined), seen, {
            ...others,
            ...turns
          }),
          (exit) => ({ exit, seen })
        )
      }

      it.effect(`${name}: ${ends ? "stays, because only an execution ends" : "is compensated"}`, () =>
        Effect.gen(function*() {
          const log: Log = []
          const { seen } = yield* play(log, {})
          isWhole(seen)
          if (!ends) return undoneOnce(log, seen)
          assert.deepStrictEqual(log, ["book"])
          assert.deepStrictEqual(seen.compensations(), [])
        }))

      if (ends) {
        it.effect(`${name}, and is cancelled: is compensated`, () =>
          Effect.gen(function*() {
            const log: Log = []
            undoneOnce(log, (yield* play(log, {}, true)).seen)
          }))
      }

      it.effect(`${name}: compensation for other ends has no effect and no events`, () =>
        Effect.gen(function*() {
          for (const compensation of [undefined, { after: ["failure"] }, { after: ["rejection"] }]) {
            const log: Log = []
            const { seen } = yield* play(log, compensation)
            assert.deepStrictEqual(log, ["book"])
            assert.isFalse(seen.events.some((event) => event._tag === "AgentStarted" && event.resumed))
            isWhole(seen)
          }
        }))
    }
  })
}

describe("parallel agents of an earlier execution that this one does not reach", () => {
  it.effect("are compensated when another one answers", () =>
    Effect.gen(function*() {
      const log: Log = []
      const { life } = journalOf()
      const agent = (wins: boolean) =>
        Agent.firstOf("v", [
          Agent.fromFunction("z", (_: unknown) => wins ? Effect.succeed("won") : Effect.never),
          Agent.all("w", [works(log, {})] as never)
        ] as never) as unknown as Runs
      const live = (wins: boolean, seen = watched()) =>
        Effect.map(
          running(
            Effect.timeoutOption(
              Effect.provideService(agent(wins).run({}, named), Journal.CurrentJournal, life().journal),
              "1 second"
            ),
            seen,
            { a: atWork }
          ),
          () => seen
        )
      yield* live(false)
      assert.deepStrictEqual(log, ["book"])
      const seen = yield* live(true)
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.strictEqual(seen.compensations().length, 1)
    }))
})

describe("a compensated failure that does not recur in the next execution", () => {
  const turns = {
    boss: [call("book", {}, { id: "b" }), call("car", {}, { id: "c" }), call("flaky", {}, { id: "f" }), text("done")]
  } as const
  const flaky = (state: { isDown: boolean }) =>
    Tool.make("flaky", {
      effects: "read",
      execute: () => Effect.suspend(() => state.isDown ? Effect.die("down") : Effect.void)
    })
  /** Two executions: entries of the first one up to a key are present in the second one. */
  const lives = (until: string, comesAgain = false) =>
    Effect.gen(function*() {
      const log: Log = []
      const state = { isDown: true }
      const agent = boss([book(log), book(log, "car"), flaky(state)], { compensation: {} }) as unknown as Runs
      const { life } = journalOf()
      const { journal, write } = life()
      let isCut = false
      yield* running(
        Effect.provideService(agent.run({}, named), Journal.CurrentJournal, {
          ...journal,
          record: (kind, key, value) =>
            Effect.suspend(() => {
              isCut ||= `${kind} ${key}`.startsWith(until)
              if (isCut) return Effect.interrupt
              write(kind, key, value)
              return Effect.void
            })
        }),
        watched(),
        turns
      )
      state.isDown = comesAgain
      const before = log.length
      const exit = yield* running(
        Effect.provideService(agent.run({}, named), Journal.CurrentJournal, life().journal),
        watched(),
        turns
      )
      return { exit, before, log }
    })

  it.effect("ends the run, whose other writes are compensated", () =>
    Effect.gen(function*() {
      for (
        const until of ["compensation begun run_1/4:book", "compensation run_1/3:car", "compensation told run_1/3:car"]
      ) {
        const { exit, log } = yield* lives(until)
        const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.instanceOf(error, Journal.NonDeterminismError, until)
        assert.match((error as Journal.NonDeterminismError).step, /^compensation run_1\/3:car/)
        // A started compensation without a recorded outcome needs a person.
        assert.deepStrictEqual(log, ["book", "car", "uncar", "unbook"], until)
      }
    }))

  it.effect("ends the run itself if it recurs", () =>
    Effect.gen(function*() {
      const { exit, log } = yield* lives("compensation begun run_1/4:book", true)
      const defect = Exit.isFailure(exit) && Cause.squash(exit.cause)
      assert.strictEqual(defect instanceof ToolError.ExecutorDefect && defect.reason, "down")
      assert.deepStrictEqual(log, ["book", "car", "uncar", "unbook"])
    }))

  it.effect("continues if no write was compensated for it", () =>
    Effect.gen(function*() {
      const { before, exit, log } = yield* lives("compensation begun run_1/3:car")
      assert.deepStrictEqual(exit, Exit.succeed("done"))
      assert.deepStrictEqual([before, log], [2, ["book", "car"]])
    }))
})
