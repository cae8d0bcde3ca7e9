/**
 * Runs that end without their agent are compensated, or reported as uncompensated: of a stopped version, or ones that
 * repeatedly end their process.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Approval } from "@recourse/core"
import { Durable } from "@recourse/durable"
import { VirtualTime } from "@recourse/testing"
import { operationsBetween } from "../../../core/test/support/operations.ts"
import { client, laws, runner, travel, untilEnded, untilWaiting, whats, worldOf } from "../support/travel.ts"

type All = ReturnType<typeof worldOf>

/** Owners without entries: like a process that dies as soon as it has the run. */
const idle = ({ store }: All, times: number) =>
  Effect.forEach(Array.from({ length: times }), () =>
    Effect.gen(function*() {
      const { taken } = yield* store.take({
        agents: [{ agent: "travel", versions: ["1", "2"] }],
        leaseMillis: 60_000,
        limit: 1
      })
      assert.strictEqual(taken.length, 1)
      yield* store.settle(taken[0]!, { status: "queued" })
    }), { discard: true })

const endings = (all: All) =>
  Effect.map(all.store.events("r1", 0), (events) =>
    events.flatMap(({ event }) => {
      const { _tag, because, code, outcome, tool } = event as Record<string, string>
      return _tag === "ToolCompensated"
        ? [`${tool} ${outcome}${because === undefined ? "" : ` ${because}`}`]
        : _tag === "RunFinished"
        ? [`${outcome} ${code ?? ""}`.trim()]
        : []
    }))

/** Ways of a run to end from outside, with the next process's agent, and its error. */
const ways = {
  "its version is stopped": {
    next: (all: All) => travel(all.world, {}, { version: "2", previousVersions: { "1": "stop" } }),
    before: () => Effect.void,
    code: "version_stopped",
    error: "VersionStopped"
  },
  "it ends its process again and again": {
    next: (all: All) => travel(all.world),
    before: (all: All) => idle(all, 21),
    code: "execution_error",
    error: "RunKeepsStopping"
  }
}

/** The run waits, and a person approves its pending call. */
const untilApproved = (all: ReturnType<typeof worldOf>, agent: ReturnType<typeof travel>) =>
  Effect.gen(function*() {
    yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
    const [call] = (yield* all.store.get("r1"))!.pending as unknown as ReadonlyArray<Approval.PendingCall>
    yield* client(all, agent, agent.decide("r1", [Approval.approve(call!)]))
  })

describe("a durable run that ends before its agent", () => {
  for (const [why, { before, code, error, next }] of Object.entries(ways)) {
    for (const script of ["pay", "clerk"] as const) {
      it.live(`is compensated if ${why}, interrupted anywhere: ${script}`, () =>
        Effect.gen(function*() {
          const first = worldOf(script)
          const whole = yield* VirtualTime.run(runner(first, travel(first.world), untilWaiting(travel(first.world))))
          let undone = 0
          for (const killAt of operationsBetween(60, whole.operations, 149)) {
            const all = worldOf(script)
            yield* VirtualTime.run(runner(all, travel(all.world), untilWaiting(travel(all.world))), { killAt })
            const stored = yield* all.store.get("r1")
            if (stored === undefined || stored.status === "waiting") continue
            // Its lease is over.
            if (stored.status === "running") yield* all.store.settle(stored, { status: "queued" })
            yield* before(all)
            const { asked } = all.world
            const agent = next(all)
            const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: 60_000 })
            const about = `killed at ${killAt}`
            assert.strictEqual(Exit.isSuccess(last.exit) && last.exit.value.failure?.code, code, about)
            assert.strictEqual(all.world.asked, asked, about)
            laws(all.world, about)
            const told = yield* endings(all)
            assert.strictEqual(told.at(-1), `failure ${code}`, about)
            undone += all.world.undone.length
          }
          assert.isAbove(undone, 1)
        }), 120_000)
    }

    it.live(`is compensated once if ${why}, compensating process killed anywhere`, () =>
      Effect.gen(function*() {
        const start = () =>
          Effect.gen(function*() {
            const all = worldOf("pay")
            const agent = travel(all.world)
            yield* untilApproved(all, agent)
            yield* before(all)
            return { agent: next(all), all }
          })
        const whole = yield* start()
        const { operations } = yield* VirtualTime.run(runner(whole.all, whole.agent, untilEnded(whole.agent)), {
          startAt: 60_000
        })
        assert.deepEqual(whats(whole.all.world), ["hotel-Rome", "flight-Rome"])
        assert.deepEqual(whole.all.world.audit, ["hotel compensated", "flight compensated"])
        const ended = yield* Effect.flip(client(whole.all, whole.agent, whole.agent.await("r1")))
        assert.strictEqual(ended._tag === "RunFailed" ? ended.error : ended._tag, error)
        for (const killAt of operationsBetween(10, operations, 167)) {
          const { agent, all } = yield* start()
          yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: 60_000, killAt })
          const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: 120_000, identity: 1 })
          const about = `killed at ${killAt}`
          assert.strictEqual(Exit.isSuccess(last.exit) && last.exit.value.failure?.code, code, about)
          assert.strictEqual(all.world.paid, 0, about)
          laws(all.world, about)
        }
      }), 120_000)
  }

  it.live("is reported as uncompensated if the compensation ends its process repeatedly", () =>
    Effect.gen(function*() {
      const all = worldOf("pay")
      const agent = travel(all.world)
      yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
      assert.isTrue(yield* client(all, agent, agent.cancel("r1")))
      yield* idle(all, 22)
      const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: 60_000 })
      assert.strictEqual(Exit.isSuccess(last.exit) && last.exit.value.status, "cancelled")
      assert.deepEqual(all.world.undone, [])
      assert.deepEqual((yield* endings(all)).slice(-3), [
        "flight not_undone failed",
        "hotel not_undone failed",
        "interrupted"
      ])
    }))

  it.live("is reported as uncompensated if the stopping version cannot compensate", () =>
    Effect.gen(function*() {
      const all = worldOf("pay")
      const agent = travel(all.world)
      yield* untilApproved(all, agent)
      const newer = travel(all.world, { compensation: null }, { version: "2", previousVersions: { "1": "stop" } })
      yield* VirtualTime.run(runner(all, newer, untilEnded(newer)), { startAt: 60_000 })
      const error = yield* Effect.flip(client(all, newer, newer.await("r1")))
      assert.deepEqual(error, new Durable.VersionStopped({ runId: "r1", version: "1" }))
      assert.deepEqual((yield* endings(all)).slice(-3), [
        "flight not_undone no_tool",
        "hotel not_undone no_tool",
        "failure version_stopped"
      ])
    }))
})
