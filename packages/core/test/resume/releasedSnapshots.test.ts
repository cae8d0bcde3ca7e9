/**
 * A resumption that is interrupted before any execution releases its snapshot: its owner resumes it, and if it is
 * abandoned, its writes are compensated.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { Agent, AgentEvent, Approval, Policy } from "@recourse/core"
import {
  asking,
  Away,
  book,
  boss,
  call,
  interrupted,
  isClosed,
  later,
  type Log,
  pay,
  running,
  type Runs,
  text,
  tool,
  type Waits,
  waits,
  watched
} from "../support/bookings.ts"

/** Books, and waits before it pays. Once that is approved, a policy takes an hour. */
const held = (log: Log, world: { isHeld: boolean }, compensation: object = {}) =>
  boss([book(log), pay(log)], {
    instructions: "a",
    input: Schema.Unknown,
    compensation,
    policies: [
      Policy.make("slow", () => Effect.as(world.isHeld ? Effect.sleep("1 hour") : Effect.void, Policy.allow))
    ]
  }) as unknown as Waits

const turns = { boss: [call("a", {}, { id: "a" }), text("done")] } as const
const approvals = (pending: ReadonlyArray<Approval.PendingCall>) => pending.map((one) => Approval.approve(one))

const forms: Readonly<Record<string, (a: Waits) => unknown>> = {
  "an agent": (a) => a,
  "one of several": (a) => Agent.all("w", [a]),
  "an agent that is a tool": (a) => boss([tool(a, "a")])
}

describe("a resumption that is interrupted before it has run anything", () => {
  for (const [name, form] of Object.entries(forms)) {
    it.effect(`leaves completed calls to the snapshot's owner, and is interrupted: ${name}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const world = { isHeld: false }
        const agent = form(held(log, world)) as Waits
        const exit = yield* running(
          Effect.gen(function*() {
            const paused = yield* agent.start({})
            assert(paused._tag === "Paused")
            world.isHeld = true
            const cut = yield* Effect.exit(interrupted(agent.resume(paused.snapshot, approvals(paused.pending))))
            assert.isTrue(Exit.isFailure(cut) && Cause.hasInterruptsOnly(cut.cause))
            assert.deepStrictEqual(log, ["book"])
            world.isHeld = false
            return yield* agent.resume(paused.snapshot, approvals(paused.pending))
          }),
          watched(),
          turns
        )
        assert.strictEqual(Exit.isSuccess(exit) && exit.value._tag, "Completed")
        assert.deepStrictEqual(log, ["book", "pay"])
      }))

    it.effect(`is compensated if interactive, because its snapshot stays private: ${name}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const world = { isHeld: false }
        const agent = asking(form(held(log, world)), (pending) =>
          Effect.sync(() => {
            world.isHeld = true
            return Approval.approve(pending)
          }))
        const exit = yield* running(interrupted(agent.run({})), seen, turns)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
        assert.deepStrictEqual(log, ["book", "unbook"])
        assert.strictEqual(seen.compensations().length, 1)
      }))

    it.effect(`is compensated if interactive within another one: ${name}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const world = { isHeld: false }
        const agent = Agent.all("v", [asking(form(held(log, world)), (pending) =>
          Effect.sync(() => {
            world.isHeld = true
            return Approval.approve(pending)
          }))]) as unknown as Runs
        yield* running(interrupted(agent.run({})), seen, turns)
        assert.deepStrictEqual(log, ["book", "unbook"])
        assert.strictEqual(seen.compensations().length, 1)
        isClosed(seen)
      }))

    it.effect(`is compensated if the parallel step fails: ${name}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const world = { isHeld: false }
        const other = waits([], undefined, "c").pipe(Agent.andThen(later(Effect.fail(new Away()))))
        const agent = Agent.all("v", [form(held(log, world)), other] as never) as unknown as Waits
        const exit = yield* running(
          Effect.flatMap(agent.start({}), (paused) => {
            assert(paused._tag === "Paused")
            world.isHeld = true
            return agent.resume(paused.snapshot, approvals(paused.pending))
          }),
          seen,
          { ...turns, c: [call("pay", {}, { id: "p" }), text("paid")] }
        )
        assert.instanceOf(Exit.isFailure(exit) && Cause.squash(exit.cause), Away)
        assert.deepStrictEqual(log, ["book", "unbook"])
        assert.strictEqual(seen.compensations().length, 1)
      }))
  }
})

describe("a resumption that is interrupted as its snapshot is claimed", () => {
  const slow = Effect.provideService(Approval.Resumptions, {
    claim: () => Effect.as(Effect.sleep("2 seconds"), true),
    release: () => Effect.void
  })

  it.effect("is interrupted, and keeps the completed calls", () =>
    Effect.gen(function*() {
      const log: Log = []
      const agent = waits(log, {}) as unknown as Waits
      const exit = yield* running(
        Effect.flatMap(
          agent.start({}),
          (paused) =>
            paused._tag === "Paused"
              ? interrupted(agent.resume(paused.snapshot, approvals(paused.pending)))
              : assert.fail("it waits")
        ).pipe(slow),
        watched()
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.deepStrictEqual(log, ["book"])
    }))

  for (const [name, form] of Object.entries(forms)) {
    it.effect(`is compensated if interactive: ${name}`, () =>
      Effect.gen(function*() {
        for (const around of [(one: Runs) => one, (one: Runs) => Agent.all("v", [one]) as unknown as Runs]) {
          const log: Log = []
          const seen = watched()
          const asked = asking(form(waits(log, {}) as never), (pending) => Effect.succeed(Approval.approve(pending)))
          yield* running(interrupted(around(asked).run({})).pipe(slow), seen, turns)
          assert.deepStrictEqual(log, ["book", "unbook"])
          assert.strictEqual(seen.compensations().length, 1)
        }
      }))
  }
})

it.effect("an interactive agent interrupted at its resumption event is compensated", () =>
  Effect.gen(function*() {
    const log: Log = []
    const seen = watched()
    const slow = AgentEvent.listen((event) =>
      event._tag === "RunStarted" && event.resumed && log.length === 1 ? Effect.sleep("2 seconds") : Effect.void
    )
    const asked = asking(waits(log, {}), (pending) => Effect.succeed(Approval.approve(pending)))
    const exit = yield* running(interrupted(asked.run({}).pipe(Effect.provide(slow))), seen)
    assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    assert.deepStrictEqual(log, ["book", "unbook"])
    assert.strictEqual(seen.compensations().length, 1)
  }))

describe("an agent that a tool starts and resumes by hand", () => {
  it.effect("stays as it has ended, though the run around it is interrupted", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const a = waits(log, {}) as unknown as Waits
      const hand = book([], "hand", {
        effects: "read",
        compensate: undefined,
        execute: () =>
          Effect.gen(function*() {
            const paused = yield* a.start({})
            assert(paused._tag === "Paused")
            yield* a.resume(paused.snapshot, approvals(paused.pending))
            return yield* Effect.never
          })
      })
      const agent = boss([hand]) as unknown as Runs
      yield* running(interrupted(agent.run({})), seen, { boss: [call("hand", {}, { id: "h" })] })
      assert.deepStrictEqual(log, ["book", "pay"])
      assert.deepStrictEqual(seen.compensations(), [])
    }))
})
