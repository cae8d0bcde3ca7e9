/**
 * A waiting inner agent is compensated once, or still waits, at any interruption of the outer run: in its first
 * execution, and in its resumption.
 */
import { assert, describe, it } from "@effect/vitest"
import { VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer } from "effect"
import { Agent, Approval } from "@recourse/core"
import {
  Away,
  boss,
  calls,
  isWhole,
  key,
  later,
  type Log,
  models,
  type Runs,
  tool,
  type Waits,
  waits,
  watched
} from "../support/bookings.ts"
import { cases } from "../support/abandonedAgents.ts"
import { operationsBetween } from "../support/operations.ts"

const hasPaused = ({ events }: ReturnType<typeof watched>) =>
  events.some((event) => event._tag === "RunFinished" && event.outcome === "paused")

const hasWaited = ({ events }: ReturnType<typeof watched>) =>
  events.some((event) => event._tag === "AgentFinished" && event.outcome === "paused")

const times = (log: Log, what: string) => log.filter((one) => one === what).length

const fresh = () => {
  const claimed = new Set<string>()
  return Layer.succeed(Approval.Resumptions, {
    claim: (id) => Effect.sync(() => claimed.size < claimed.add(id).size),
    release: (id) => Effect.sync(() => void claimed.delete(id))
  })
}

const run = (
  effect: Effect.Effect<unknown, unknown>,
  seen: ReturnType<typeof watched>,
  turns: Parameters<typeof models>[0],
  interruptAt: number | undefined,
  // Ids are the same in each run: one's resumed snapshots are not the other's.
  resumptions = fresh()
) =>
  VirtualTime.run(
    Effect.provide(effect, Layer.mergeAll(seen.layer, key, models(turns), resumptions)) as Effect.Effect<
      unknown,
      unknown
    >,
    interruptAt === undefined ? {} : { interruptAt }
  )

const near = 50

describe("interrupted at every operation", () => {
  for (const [name, { agent, turns }] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const go = (interruptAt?: number) => {
          const log: Log = []
          const seen = watched()
          return Effect.map(
            run((agent(waits(log, {}) as never) as Runs).run({}), seen, turns, interruptAt),
            (ended) => ({ ...ended, log, seen })
          )
        }
        // A run that only an interruption ends.
        const { operations } = yield* go(
          name.includes("the run is interrupted") || name.includes("cuts off") ? 400 : undefined
        )
        /** The first operation behind which an agent within waits: the steps around it are short. */
        let waitsAt = 1
        for (let to = operations; waitsAt < to;) {
          const middle = Math.floor((waitsAt + to) / 2)
          if (hasWaited((yield* go(middle)).seen)) to = middle
          else waitsAt = middle + 1
        }
        const places = [
          ...operationsBetween(1, Math.max(1, waitsAt - near), 83),
          ...operationsBetween(Math.max(1, waitsAt - near), Math.min(operations + 1, waitsAt + near), 7),
          ...operationsBetween(waitsAt + near, operations + 1, 83)
        ]
        for (const at of places) {
          const { log, seen, stopped } = yield* go(at)
          if (stopped !== undefined || hasPaused(seen)) break
          assert.isAtMost(times(log, "book"), 1)
          // An interrupted one has an unknown outcome: that is reported.
          assert.isAtLeast(seen.compensations().length, times(log, "book"), `operation ${at}: ${log}`)
          const told = seen.compensations().filter((one) => one.endsWith(" undone"))
          assert.strictEqual(told.length, times(log, "unbook"), `operation ${at}`)
          if (seen.events.length > 0) isWhole(seen)
        }
      }))
  }
})

interface Resumed {
  readonly agent: (a: unknown, c: unknown) => unknown
  readonly turns?: Parameters<typeof models>[0]
  /** Predicate of approved calls. */
  readonly approves: (callId: string) => boolean
  readonly log: ReadonlyArray<string>
}

const twice = { boss: [calls([{ name: "a", params: {}, id: "a" }, { name: "c", params: {}, id: "c" }])] } as const

/** Waits, and fails when it resumes. */
const falls = (log: Log) =>
  waits(log, undefined, "c").pipe(Agent.andThen(Agent.fromFunction("f", () => Effect.fail(new Away()))))

const resumptions: Readonly<Record<string, Resumed>> = {
  "all: one that continues fails": {
    agent: (a, c) => Agent.all("w", [a, c] as never),
    approves: (id) => id.startsWith("c"),
    log: ["book", "book", "pay", "unbook"]
  },
  "all within all: one that continues fails": {
    agent: (a, c) => Agent.all("v", [Agent.all("w", [a, later(Effect.succeed(1))] as never), c] as never),
    approves: (id) => id.startsWith("c"),
    log: ["book", "book", "pay", "unbook"]
  },
  "agents that are tools: one that continues fails": {
    agent: (a, c) => boss([tool(a, "a"), tool(c, "c")]),
    turns: twice,
    approves: (id) => id.startsWith("c"),
    log: ["book", "book", "pay", "unbook"]
  },
  "agents that are tools, within all": {
    agent: (a, c) => Agent.all("w", [boss([tool(a, "a")]), c] as never),
    turns: { boss: [calls([{ name: "a", params: {}, id: "a" }])] },
    approves: (id) => id.startsWith("c"),
    log: ["book", "book", "pay", "unbook"]
  },
  "all: the run waits on": {
    agent: (a, c) => Agent.all("w", [a, c] as never),
    approves: () => false,
    log: ["book", "book"]
  }
}

describe("resumed without an agent that waits", () => {
  for (const [name, { agent, approves, log: expected, turns }] of Object.entries(resumptions)) {
    const lives = (log: Log, seen: ReturnType<typeof watched>) => {
      const made = agent(waits(log, {}), falls(log)) as Waits
      const start = Effect.map(
        run(made.start({}), watched(), turns, undefined),
        ({ exit }) => Exit.isSuccess(exit) ? exit.value as Approval.Paused : assert.fail(Cause.pretty(exit.cause))
      )
      const decisions = ({ pending }: Approval.Paused) =>
        pending.filter(({ callId }) => approves(callId)).map((call) => Approval.approve(call))
      const store = fresh()
      const resume = (paused: Approval.Paused, interruptAt?: number) =>
        run(
          made.resume(JSON.parse(JSON.stringify(paused.snapshot)), decisions(paused)),
          seen,
          turns,
          interruptAt,
          store
        )
      return { start, resume }
    }

    it.effect(name, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const { resume, start } = lives(log, seen)
        yield* resume(yield* start)
        assert.deepStrictEqual(log.toSorted(), [...expected].toSorted())
        assert.deepStrictEqual(seen.compensations().length, times(log, "unbook"))
      }))

    it.effect(`${name}, interrupted at every operation, and again resumed`, () =>
      Effect.gen(function*() {
        const first = watched()
        const plain = lives([], first)
        const { operations } = yield* plain.resume(yield* plain.start)
        let undone = 0
        let back = 0
        for (const at of operationsBetween(1, operations + 1, 83)) {
          const log: Log = []
          const seen = watched()
          const { resume, start } = lives(log, seen)
          const paused = yield* start
          const { exit } = yield* resume(paused, at)
          const again = times(log, "unbook")
          const { exit: second } = yield* resume(paused)
          const isUsed = Exit.isFailure(second) &&
            second.cause.reasons.some((reason) =>
              Cause.isFailReason(reason) && (reason.error as { _tag?: string })._tag === "SnapshotRefused"
            )
          assert.isAtMost(times(log, "unbook"), 1, `operation ${at}: ${log}`)
          assert.isAtMost(times(log, "pay"), 1, `operation ${at}: ${log}`)
          if (isUsed) {
            // It is used up: no process resumes it.
            if (Exit.isFailure(exit) && !hasPaused(seen)) assert.strictEqual(again, 1, `operation ${at}: ${log}`)
            undone++
          } else {
            assert.strictEqual(again, 0, `operation ${at}: ${log}`)
            assert.deepStrictEqual(log.toSorted(), [...expected].toSorted(), `operation ${at}`)
            back++
          }
        }
        assert.isAbove(back + undone, 0)
      }))
  }
})
