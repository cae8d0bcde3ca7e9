/** Waiting agents that a run abandons or cancels. */

import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { Agent, Approval, Journal, Tool } from "@recourse/core"
import {
  Away,
  book,
  boss,
  both,
  call,
  described,
  later,
  type Log,
  pay,
  running,
  type Runs,
  Slow,
  text,
  tool,
  type Waits,
  waits,
  watched
} from "../support/bookings.ts"
import { journalOf } from "../support/interruptedRuns.ts"
import { journaled, named } from "../support/journaledAgents.ts"

describe("writes compensated after a rejection", () => {
  it.effect("stay compensated in the next execution, which answers", () =>
    Effect.gen(function*() {
      const log: Log = []
      const agent = boss([book(log), pay(log)], { compensation: {} }) as unknown as Waits
      const turns = { boss: [call("book", {}, { id: "b" }), call("pay", {}, { id: "p" }), text("not paid")] } as const
      const { life } = journalOf()
      const paused = yield* running(agent.start({}, named), watched(), turns)
      if (Exit.isFailure(paused) || paused.value._tag !== "Paused") return assert.fail("it waits")
      const { pending, snapshot } = paused.value
      const resume = (journal: Journal.Journal) =>
        running(
          agent.resume(JSON.parse(JSON.stringify(snapshot)), pending.map((one) => Approval.reject(one, "no"))).pipe(
            Effect.provideService(Journal.CurrentJournal, journal),
            Effect.provideService(Approval.Resumptions, { claim: () => Effect.succeed(true) })
          ),
          watched(),
          turns
        )
      const { journal } = life()
      yield* resume({
        ...journal,
        record: (kind, key, value) => key.startsWith("told ") ? Effect.interrupt : journal.record(kind, key, value)
      })
      assert.deepStrictEqual(log, ["book", "unbook"])
      const exit = yield* resume(life().journal)
      assert.strictEqual(Exit.isSuccess(exit) && exit.value._tag, "Completed")
      assert.deepStrictEqual(log, ["book", "unbook"])
    }))
})

describe("a waiting agent that is abandoned with changed tools", () => {
  it.effect("is compensated by its present tools", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const asking = (tools: ReadonlyArray<unknown>) =>
        boss([
          tool(boss(tools, { instructions: "a", compensation: {} }), "a"),
          tool(waits([], undefined, "c").pipe(Agent.andThen(later(Effect.fail(new Away())))), "c")
        ]) as unknown as Waits
      yield* running(
        Effect.flatMap(asking([book(log), pay(log)]).start({}), (paused) =>
          paused._tag === "Paused"
            ? asking([book(log), pay(log), Slow]).resume(
              JSON.parse(JSON.stringify(paused.snapshot)),
              paused.pending.filter(({ callId }) => callId.startsWith("c")).map((one) => Approval.approve(one))
            )
            : assert.fail("it waits")),
        seen,
        { boss: [both("a", "c")], c: [call("pay", {}, { id: "p" }), text("paid")] }
      )
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.deepStrictEqual(seen.compensations().map((line) => line.split(" ").at(-1)), ["undone"])
    }))
})

describe("an agent that waits within an abandoned one, with a missing tool", () => {
  const plain = Tool.make("a", { ...described, effects: "read", execute: () => Effect.succeed("plain") })
  const ways: Readonly<Record<string, ReadonlyArray<unknown>>> = {
    "is none any more": [],
    "is no agent any more": [plain]
  }
  for (const [what, tools] of Object.entries(ways)) {
    it.effect(`${what}: stays, and the run ends with its failure`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const asking = (within: ReadonlyArray<unknown>) =>
          boss([
            tool(boss(within, { instructions: "mid" }), "mid"),
            tool(waits([], undefined, "c").pipe(Agent.andThen(later(Effect.fail("no" as const)))), "c")
          ]) as unknown as Waits
        const exit = yield* running(
          Effect.flatMap(asking([tool(waits(log, {}), "a")]).start({}), (paused) =>
            paused._tag === "Paused"
              ? asking(tools).resume(
                JSON.parse(JSON.stringify(paused.snapshot)),
                paused.pending.filter(({ callId }) => callId.startsWith("c")).map((one) => Approval.approve(one))
              )
              : assert.fail("it waits")),
          seen,
          {
            boss: [both("mid", "c")],
            mid: [call("a", {}, { id: "a" })],
            c: [call("pay", {}, { id: "p" }), text("paid")]
          }
        )
        assert.deepStrictEqual(Exit.isFailure(exit) && exit.cause.reasons.map(({ _tag }) => _tag), ["Fail"])
        assert.deepStrictEqual(log, ["book"])
      }))
  }
})

describe("a run that is cancelled", () => {
  it.effect("lets others finish next to a waiting one, which is compensated", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      let isCancelled = false
      const slowly = book(log, "book", {
        execute: () => Effect.delay(Effect.sync(() => (log.push("book"), "book is done")), "1 second")
      })
      const a = boss([slowly, pay(log)], { instructions: "a", input: Schema.Unknown, compensation: {} })
      const z = later(Effect.sync(() => log.push("z")), "z", "2 seconds")
      yield* running(
        journaled(
          Effect.andThen(
            Effect.forkChild(Effect.delay(Effect.sync(() => isCancelled = true), "500 millis")),
            (Agent.all("w", [a, z] as never) as unknown as Runs).run({}, named)
          ),
          () => isCancelled
        ),
        seen
      )
      assert.deepStrictEqual(log, ["book", "unbook", "z"])
    }))

  for (
    const [what, decide] of Object.entries({
      answers: (one: Approval.PendingCall) => Approval.respond(one, null),
      approves: (one: Approval.PendingCall) => Approval.approve(one)
    })
  ) {
    it.effect(`is compensated in another execution with other tools, though a person ${what}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const agent = (tools: ReadonlyArray<unknown>) => boss(tools, { compensation: {} }) as unknown as Waits
        const exit = yield* running(
          Effect.gen(function*() {
            const paused = yield* agent([book(log), pay(log)]).start({}, named)
            assert(paused._tag === "Paused")
            const resumed = agent([book(log)]).resume(
              JSON.parse(JSON.stringify(paused.snapshot)),
              paused.pending.map(decide)
            )
            return yield* Effect.provideService(resumed, Journal.CurrentJournal, {
              ...journalOf().life().journal,
              isResumed: true,
              isCancelled: () => true
            })
          }),
          seen,
          { boss: [call("book", {}, { id: "b" }), call("pay", {}, { id: "p" })] }
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
        assert.deepStrictEqual(log, ["book", "unbook"])
      }))
  }

  it.effect("refuses a decision about an agent whose tool is gone", () =>
    Effect.gen(function*() {
      const log: Log = []
      const exit = yield* running(
        Effect.gen(function*() {
          const paused = yield* (boss([tool(waits(log, {}), "a")]) as unknown as Waits).start({}, named)
          assert(paused._tag === "Paused")
          const resumed = (boss([]) as unknown as Waits).resume(
            JSON.parse(JSON.stringify(paused.snapshot)),
            paused.pending.map((one) => Approval.approve(one))
          )
          return yield* Effect.provideService(resumed, Journal.CurrentJournal, {
            ...journalOf().life().journal,
            isResumed: true,
            isCancelled: () => true
          })
        }),
        watched(),
        { boss: [call("a", {}, { id: "a" })] }
      )
      assert.deepInclude(Exit.isFailure(exit) && Cause.squash(exit.cause), {
        _tag: "SnapshotRefused",
        reason: "tools_changed"
      })
    }))
})
