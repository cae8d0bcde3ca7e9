/**
 * Runs cancelled without a process are compensated: each effect once, under its key; and uncompensated ones are
 * reported.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { Agent, Approval, Tool, ToolCall } from "@recourse/core"
import { Durable } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { isChosen, operationsBetween } from "../../../core/test/support/operations.ts"
import {
  book,
  client,
  laws,
  runner,
  SoldOut,
  type Travel,
  travel,
  untilEnded,
  untilWaiting,
  whats,
  worldOf
} from "../support/travel.ts"

describe("a durable run that is cancelled while it waits for an approval", () => {
  for (const by of ["its own process", "another process"]) {
    it.live(`is compensated: by ${by}`, () =>
      Effect.gen(function*() {
        const all = worldOf("pay")
        const agent = travel(all.world)
        if (by === "its own process") {
          const { exit } = yield* VirtualTime.run(runner(
            all,
            agent,
            Effect.gen(function*() {
              yield* untilWaiting(agent)
              const asked = all.world.asked
              assert.isTrue(yield* agent.cancel("r1"))
              const info = yield* Effect.timeout(untilEnded(agent), "1 second")
              assert.strictEqual(info.status, "cancelled")
              assert.strictEqual(all.world.asked, asked)
            })
          ))
          assert.deepEqual(exit, Exit.void)
        } else {
          yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
          assert.isTrue(yield* client(all, agent, agent.cancel("r1")))
          // No process is live to compensate it; decisions come too late.
          const info = yield* client(all, agent, agent.poll("r1"))
          assert.deepEqual([info.status, info.cancelling], ["queued", true])
          const [call] = (yield* all.store.get("r1"))!.pending as unknown as ReadonlyArray<Approval.PendingCall>
          const late = yield* Effect.flip(client(all, agent, agent.decide("r1", [Approval.approve(call!)])))
          assert.strictEqual(late._tag, "DecisionRefused")
          const { exit } = yield* VirtualTime.run(runner(all, agent, Effect.timeout(untilEnded(agent), "1 second")))
          assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled")
        }
        assert.deepEqual(all.world.done, ["flight Rome", "hotel Rome"])
        assert.deepEqual(whats(all.world), ["hotel-Rome", "flight-Rome"])
        assert.strictEqual(all.world.paid, 0)
        assert.deepEqual(all.world.audit, ["hotel compensated", "flight compensated"])
        assert.deepEqual(all.world.reported, [])
        const events = yield* all.store.events("r1", 0)
        assert.deepEqual(
          events.flatMap(({ event }) => {
            const { _tag, outcome, tool } = event as Record<string, string>
            return _tag === "ToolCompensated"
              ? [`${tool} ${outcome}`]
              : _tag === "RunFinished"
              ? [`${_tag} ${outcome}`]
              : []
          }),
          ["RunFinished paused", "hotel undone", "flight undone", "RunFinished interrupted"]
        )
        // Readers of the conversation learn of it.
        assert.include(JSON.stringify(events.at(-1)), "undone")
      }))
  }

  it.live("compensates a waiting inner agent, by itself or the outer one", () =>
    Effect.gen(function*() {
      for (const compensation of [undefined, null] as const) {
        const all = worldOf("clerk")
        const agent = travel(all.world, { compensation })
        yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
        yield* client(all, agent, agent.cancel("r1"))
        const { exit } = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)))
        assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled")
        assert.deepEqual(
          whats(all.world),
          compensation === null ? ["car-Rome"] : ["car-Rome", "hotel-Rome", "flight-Rome"]
        )
      }
    }))

  it.live("ends at once without compensable writes, and compensates none if disabled", () =>
    Effect.gen(function*() {
      const all = worldOf("pay")
      const agent = travel(all.world, { compensation: { after: ["failure"] } })
      yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
      yield* client(all, agent, agent.cancel("r1"))
      const { exit } = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)))
      assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled")
      assert.deepEqual(all.world.undone, [])
      const other = worldOf("pay")
      const plain = travel(other.world, { compensation: null })
      yield* VirtualTime.run(runner(other, plain, untilWaiting(plain)))
      yield* client(other, plain, plain.cancel("r1"))
      assert.strictEqual((yield* client(other, plain, plain.poll("r1"))).status, "cancelled")
    }))
})

describe("a durable run that is cancelled between its executions", () => {
  for (const script of ["pay", "clerk"] as const) {
    it.live(`is compensated, wherever its process was killed: ${script}`, () =>
      Effect.gen(function*() {
        const first = worldOf(script)
        const whole = yield* VirtualTime.run(runner(first, travel(first.world), untilWaiting(travel(first.world))))
        let undone = 0
        for (const killAt of operationsBetween(40, whole.operations, 247)) {
          const all = worldOf(script)
          const agent = travel(all.world)
          yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)), { killAt })
          if ((yield* all.store.get("r1")) === undefined) continue
          const asked = all.world.asked
          yield* VirtualTime.run(client(all, agent, agent.cancel("r1")), { startAt: 60_000 })
          const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: 61_000, identity: 1 })
          const about = `killed at ${killAt}`
          assert.strictEqual(Exit.isSuccess(last.exit) && last.exit.value.status, "cancelled", about)
          assert.isBelow(last.elapsed, 1000, about)
          // No call is started any more.
          assert.strictEqual(all.world.asked, asked, about)
          laws(all.world, about)
          undone += all.world.undone.length
        }
        assert.isAbove(undone, 2)
      }), 120_000)
  }

  for (const key of [false, true]) {
    for (const ends of ["is cancelled", "fails"] as const) {
      it.live(
        `knows unrepeated inner calls of a tool: it ${ends}${key ? ", under keys" : ""}`,
        () =>
          Effect.gen(function*() {
            let undone = 0
            const made = () => {
              const all = worldOf("pay")
              const Flight = book(all.world, "flight", key ? { idempotency: true } : {})
              const Refused = book(all.world, "car", {
                failure: SoldOut,
                execute: () => Effect.fail(new SoldOut())
              })
              const Bundle = Tool.make("bundle", {
                effects: "write",
                execute: () =>
                  Effect.gen(function*() {
                    const within = (tool: typeof Flight, id: string) =>
                      Effect.provideService(
                        tool.call,
                        ToolCall.ToolCall,
                        ToolCall.make({ id, arguments: { place: "Rome" } })
                      )
                    yield* Effect.exit(within(Refused as never, "r"))
                    yield* within(Flight, "f")
                    yield* Effect.sleep("2 seconds")
                  })
              })
              const agent = Durable.make(
                Agent.make("travel", {
                  tools: [Bundle],
                  compensation: {
                    tools: [Flight, Refused] as never,
                    report: (left) =>
                      Effect.sync(() => {
                        for (const { because, callId, tool } of left) {
                          all.world.reported.push(`${tool} ${callId} ${because}`)
                        }
                      })
                  }
                })
              ) as unknown as Travel
              const turns = ScriptedModel.layer(({ prompt }) =>
                prompt.content.length > 1 ? ScriptedModel.text("done") : ScriptedModel.call("bundle", {}, { id: "b" })
              )
              return { agent, all: { ...all, around: Layer.merge(all.around, turns) } }
            }
            const first = made()
            const started = Effect.andThen(first.agent.start("r1", "Rome"), untilEnded(first.agent))
            const whole = yield* VirtualTime.run(runner(first.all, first.agent, started))
            assert.strictEqual(Exit.isSuccess(whole.exit) && whole.exit.value.status, "completed")
            for (const killAt of operationsBetween(40, whole.operations, 269)) {
              const { agent, all } = made()
              const start = Effect.andThen(agent.start("r1", "Rome"), untilEnded(agent))
              yield* VirtualTime.run(runner(all, agent, start), { killAt })
              const stored = yield* all.store.get("r1")
              if (stored === undefined || stored.status === "completed") continue
              if (ends === "is cancelled") {
                yield* VirtualTime.run(client(all, agent, agent.cancel("r1")), { startAt: 60_000 })
              }
              const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), {
                startAt: 61_000,
                identity: 1
              })
              const about = `killed at ${killAt}`
              if (Exit.isSuccess(last.exit) && last.exit.value.status === "completed") continue
              assert.strictEqual(
                Exit.isSuccess(last.exit) && last.exit.value.status,
                ends === "fails" ? "failed" : "cancelled",
                about
              )
              laws(all.world, about)
              // A call that is known not to have happened needs no check.
              if (all.world.done.length > 0) {
                assert.isFalse(all.world.reported.some((one) => one.startsWith("car")), about)
              }
              undone += all.world.undone.length
            }
            assert.isAbove(undone, 0)
          }),
        120_000
      )
    }
  }

  it.live("is compensated once, compensating process killed anywhere", () =>
    Effect.gen(function*() {
      for (const script of ["pay", "clerk"] as const) {
        const start = () =>
          Effect.gen(function*() {
            const all = worldOf(script)
            const agent = travel(all.world)
            yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
            yield* VirtualTime.run(client(all, agent, agent.cancel("r1")), { startAt: 30_000 })
            return { agent, all }
          })
        const whole = yield* start()
        const { operations } = yield* VirtualTime.run(runner(whole.all, whole.agent, untilEnded(whole.agent)), {
          startAt: 60_000
        })
        for (const killAt of operationsBetween(10, operations, 127)) {
          const { agent, all } = yield* start()
          yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: 60_000, killAt })
          const between = whats(all.world)
          const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: 120_000, identity: 1 })
          const about = `${script} killed at ${killAt}, ${between}`
          assert.strictEqual(Exit.isSuccess(last.exit) && last.exit.value.status, "cancelled", about)
          laws(all.world, about)
        }
      }
    }), 120_000)
})

describe("a durable run with a compensation", () => {
  it.live(
    "compensates once for any store fault at each operation",
    () =>
      Effect.gen(function*() {
        for (const [nth, fault] of (["fails", "dies", "lost", "frozen", "gone", "slow"] as const).entries()) {
          for (let at = 1; at <= 16; at++) {
            if (!isChosen(nth, at)) continue
            const all = worldOf("clerk")
            const agent = travel(all.world)
            yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
            yield* VirtualTime.run(client(all, agent, agent.cancel("r1")), { startAt: 30_000 })
            const ended = yield* VirtualTime.runAll([
              { effect: runner(all, agent, untilEnded(agent), [{ at, fault }]) },
              { effect: runner(all, agent, untilEnded(agent)), identity: 1 }
            ], { order: at, startAt: 60_000 })
            const about = `${fault} at ${at}`
            for (const { exit } of ended) {
              assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled", about)
            }
            laws(all.world, about)
          }
        }
      }),
    120_000
  )

  for (const how of ["refuses", "does not decide in time"] as const) {
    it.live(
      `when a person ${how}: compensates earlier writes once, killed anywhere`,
      () =>
        Effect.gen(function*() {
          const start = () =>
            Effect.gen(function*() {
              const all = worldOf("pay")
              const agent = travel(
                all.world,
                {},
                how === "refuses" ? undefined : { approvals: { onExpired: "reject" } }
              )
              yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
              if (how === "refuses") {
                const [call] = (yield* all.store.get("r1"))!.pending as unknown as ReadonlyArray<Approval.PendingCall>
                yield* VirtualTime.run(client(all, agent, agent.decide("r1", [Approval.reject(call!, "Too dear.")])), {
                  startAt: 30_000
                })
              }
              return { agent, all }
            })
          const at = how === "refuses" ? 60_000 : 25 * 3_600_000
          const whole = yield* start()
          const { exit, operations } = yield* VirtualTime.run(
            runner(whole.all, whole.agent, untilEnded(whole.agent)),
            { startAt: at }
          )
          assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "completed")
          assert.deepEqual(whats(whole.all.world), ["hotel-Rome", "flight-Rome"])
          assert.include(whole.all.world.told.at(-1), "are compensated")
          for (const killAt of operationsBetween(10, operations, 191)) {
            const { agent, all } = yield* start()
            yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: at, killAt })
            const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), {
              startAt: at + 60_000,
              identity: 1
            })
            const about = `killed at ${killAt}`
            assert.strictEqual(Exit.isSuccess(last.exit) && last.exit.value.status, "completed", about)
            laws(all.world, about)
          }
        }),
      120_000
    )
  }
})
