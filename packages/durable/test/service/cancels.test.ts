/**
 * A durable run is cancelled while it emits events: at its pause, at its end, and again while it is being compensated.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer } from "effect"
import { AgentEvent, type Runs } from "@recourse/core"
import { RunStore } from "@recourse/durable"
import { VirtualTime } from "@recourse/testing"
import { operationsBetween } from "../../../core/test/support/operations.ts"
import { client, laws, runner, travel, untilEnded, whats, worldOf } from "../support/travel.ts"

type World = ReturnType<typeof worldOf>
type Agent = ReturnType<typeof travel>

/** Runs until the end, and is cancelled a number of turns of its fibers behind each of some events. */
const cancelledAt = (
  all: World,
  agent: Agent,
  isAt: (event: AgentEvent.AgentEvent) => boolean,
  turns: number,
  options: VirtualTime.Options = {}
) => {
  let cancel: Effect.Effect<void> = Effect.void
  let asked = 0
  let ended = 0
  const listening = AgentEvent.listen((event) => isAt(event) ? cancel : Effect.void)
  const around = { ...all, around: Layer.merge(all.around, listening) } as World
  const ran = VirtualTime.run(
    runner(
      around,
      agent,
      Effect.gen(function*() {
        const fork = Effect.runForkWith(yield* Effect.context<Runs.Runs>())
        const later = Effect.forEach(Array.from({ length: turns }), () => Effect.yieldNow, { discard: true })
        const noted = Effect.map(Clock.currentTimeMillis, (now) => asked = now)
        cancel = Effect.sync(() =>
          void fork(Effect.andThen(later, Effect.andThen(noted, Effect.exit(agent.cancel("r1")))))
        )
        yield* agent.start("r1", "Rome")
        const info = yield* Effect.timeout(untilEnded(agent), "1 minute")
        ended = yield* Clock.currentTimeMillis
        return info
      })
    ),
    options
  )
  return Effect.map(ran, (ran) => ({ ...ran, millis: ended - asked }))
}

/** With a store that takes so many milliseconds to append steps. */
const slowed = (all: World, delay: number): World => {
  if (delay === 0) return all
  const store = {
    ...all.store,
    append: (steps: Parameters<typeof all.store.append>[0]) => Effect.delay(all.store.append(steps), delay)
  }
  return { ...all, store, around: Layer.merge(all.around, Layer.succeed(RunStore.RunStore, store)) }
}

describe("a durable run that is cancelled", () => {
  for (const script of ["pay", "clerk"] as const) {
    it.live(`while emitting its pause is compensated: ${script}`, () =>
      Effect.gen(function*() {
        for (let turns = 0; turns < 12; turns++) {
          const all = worldOf(script)
          const { exit } = yield* cancelledAt(
            all,
            travel(all.world),
            ({ _tag }) => _tag === "RunFinished",
            turns
          )
          assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled", `${turns} turns`)
          laws(all.world, `${turns} turns`)
          assert.includeMembers(whats(all.world), ["hotel-Rome", "flight-Rome"], `${turns} turns`)
        }
      }))
  }

  it.live("while emitting its successful end has ended well", () =>
    Effect.gen(function*() {
      for (let turns = 0; turns < 6; turns++) {
        const all = worldOf("done")
        const { exit } = yield* cancelledAt(all, travel(all.world), ({ _tag }) => _tag === "RunFinished", turns)
        assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "completed", `${turns} turns`)
        assert.deepEqual(all.world.undone, [])
      }
    }))

  it.live(
    "again during its compensation is compensated once, process killed anywhere",
    () =>
      Effect.gen(function*() {
        const isCompensated = ({ _tag }: AgentEvent.AgentEvent) =>
          _tag === "ApprovalRequested" || _tag === "ToolCompensated"
        const first = worldOf("pay")
        const whole = yield* cancelledAt(first, travel(first.world), isCompensated, 1)
        assert.strictEqual(Exit.isSuccess(whole.exit) && whole.exit.value.status, "cancelled")
        laws(first.world, "whole")
        let between = 0
        for (const killAt of operationsBetween(40, whole.operations, 95)) {
          const all = worldOf("pay")
          const agent = travel(all.world)
          yield* cancelledAt(all, agent, isCompensated, 1, { killAt })
          if ((yield* all.store.get("r1")) === undefined) continue
          yield* VirtualTime.run(client(all, agent, Effect.exit(agent.cancel("r1"))), { startAt: 60_000 })
          const undone = all.world.undone.length
          const last = yield* cancelledAt(all, agent, isCompensated, 1, { startAt: 61_000, identity: 1 })
          assert.strictEqual(Exit.isSuccess(last.exit) && last.exit.value.status, "cancelled", `killed at ${killAt}`)
          laws(all.world, `killed at ${killAt}`)
          if (undone > 0) between++
        }
        assert.isAbove(between, 0)
      }),
    60_000
  )

  const cases = [["pay", 0], ["pay", 20], ["clerk", 0], ["done", 0], ["done", 20]] as const
  for (const [script, delay] of cases) {
    it.live(
      `ends within a second at any point: ${script}, a store of ${delay} ms`,
      () =>
        Effect.gen(function*() {
          const slow: Array<string> = []
          const places = new Set<string>()
          for (
            const tag of ["RunStarted", "ModelTurnFinished", "ToolCallStarted", "ToolAttempt", "ToolResult"] as const
          ) {
            for (let turns = 0; turns < 12; turns++) {
              const all = slowed(worldOf(script), delay)
              let times = 0
              const isFirst = (event: AgentEvent.AgentEvent) => event._tag === tag && times++ === 0
              const { exit, millis } = yield* cancelledAt(all, travel(all.world), isFirst, turns)
              const about = `${turns} turns behind the first ${tag}`
              assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled", about)
              laws(all.world, about)
              places.add(tag)
              if (millis > 1000) slow.push(`${about}: ${millis} ms`)
            }
          }
          assert.deepEqual(slow, [])
          assert.strictEqual(places.size, 5)
        }),
      60_000
    )
  }
})
