/**
 * A store of resumptions that claims a snapshot, and dies before it answers: if the paused run cannot be ended, that is
 * reported.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import { Agent, Approval } from "@recourse/core"
import { boss, call, key, type Log, running, text, tool, type Waits, waits, watched } from "../support/bookings.ts"

/** Records its claims. Claims with these numbers get no answer. */
const losing = (...lost: ReadonlyArray<number>) => {
  const claimed = new Set<string>()
  let claims = 0
  return Layer.succeed(Approval.Resumptions, {
    claim: (id) =>
      Effect.suspend(() => {
        const isNew = !claimed.has(id)
        claimed.add(id)
        return lost.includes(++claims) ? Effect.die("no connection") : Effect.succeed(isNew)
      })
  })
}

const forms: Readonly<Record<string, (a: Waits) => unknown>> = {
  "an agent that is a tool": (a) => boss([tool(a, "ask")]),
  "one of several": (a) => Agent.all("w", [a])
}

describe("a claim without an answer", () => {
  for (const [name, form] of Object.entries(forms)) {
    const play = (store: Layer.Layer<never>, told = "are not compensated here") =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const agent = form(waits(log, {}) as never) as Waits
        const exit = yield* running(
          Effect.gen(function*() {
            const paused = yield* agent.start({})
            assert(paused._tag === "Paused")
            return yield* agent.resume(paused.snapshot, paused.pending.map((one) => Approval.approve(one)))
          }).pipe(Effect.provide([store, key])),
          seen,
          { boss: [call("ask", {}, { id: "s" }), text("done")] }
        )
        return { exit, log, told: seen.messages.filter((message) => message.includes(told)) }
      })

    it.effect(`keeps the completed writes, and reports them: ${name}`, () =>
      Effect.gen(function*() {
        const { exit, log, told } = yield* play(losing(2))
        assert(Exit.isFailure(exit))
        assert.deepStrictEqual(log, ["book"])
        assert.strictEqual(told.length, 1)
        assert.include(told[0], "\"a\"")
      }))

    it.effect(`that fails keeps completed writes, and reports them as uncompensated: ${name}`, () =>
      Effect.gen(function*() {
        let claims = 0
        const down = Layer.succeed(Approval.Resumptions, {
          claim: () => Effect.suspend(() => ++claims > 1 ? Effect.die("no connection") : Effect.succeed(true))
        })
        const { exit, log, told } = yield* play(down, "could not be compensated")
        assert(Exit.isFailure(exit))
        assert.deepStrictEqual(log, ["book"])
        assert.strictEqual(told.length, 1)
        assert.include(told[0], "\"a\"")
        claims = 0
        assert.deepStrictEqual((yield* play(down)).told, [])
      }))

    it.effect(`is not reported without writes: ${name}`, () =>
      Effect.gen(function*() {
        const { exit, log, told } = yield* play(losing())
        assert(Exit.isSuccess(exit))
        assert.deepStrictEqual([log, told], [["book", "pay"], []])
      }))
  }
})

describe("an agent that waits within an abandoned one", () => {
  const inner = (a: Waits) =>
    Agent.firstOf("v", [Agent.all("w", [a]), waits([], undefined, "x")] as never) as never as Waits
  const within = (snapshot: Approval.Snapshot, id: string) =>
    snapshot.round!.nested!.find(({ callId }) => callId === id)!.snapshot as unknown as Approval.Snapshot
  /** Another one answers, so that it is left. */
  const play = (
    meanwhile: (of: {
      readonly a: Waits
      readonly claimed: Set<string>
      readonly snapshot: Approval.Snapshot
    }) => Effect.Effect<unknown, unknown>,
    agent: (a: Waits, life: number) => Waits = inner
  ) =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const a = waits(log, {}) as unknown as Waits
      const claimed = new Set<string>()
      const store = Layer.succeed(Approval.Resumptions, {
        claim: (id) => Effect.sync(() => claimed.size < claimed.add(id).size),
        release: (id) => Effect.sync(() => void claimed.delete(id))
      })
      const exit = yield* running(
        Effect.gen(function*() {
          const paused = yield* agent(a, 1).start({})
          assert(paused._tag === "Paused")
          yield* Effect.orDie(meanwhile({ a, claimed, snapshot: within(within(paused.snapshot, "w"), "a") }))
          const decided = paused.pending.filter(({ callId }) => callId.startsWith("x"))
          return yield* agent(a, 2).resume(paused.snapshot, decided.map((one) => Approval.approve(one)))
        }).pipe(Effect.provide([store, key])),
        seen
      )
      assert(Exit.isSuccess(exit))
      const told = seen.messages.filter((message) => message.includes("before its pause"))
      return { log, seen, told }
    })

  it.effect("is compensated with it, once", () =>
    Effect.gen(function*() {
      const { log, seen, told } = yield* play(() => Effect.void)
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.deepStrictEqual(told, [])
      assert.strictEqual(seen.compensations().length, 1)
    }))

  it.effect("is not, if another process has claimed it, reported once", () =>
    Effect.gen(function*() {
      const { log, told } = yield* play(({ claimed, snapshot }) => Effect.sync(() => void claimed.add(snapshot.id)))
      assert.deepStrictEqual(log, ["book"])
      assert.strictEqual(told.length, 1)
      assert.include(told[0], "are not compensated here")
    }))

  it.effect("is not, if this process has resumed it, without a report", () =>
    Effect.gen(function*() {
      const { log, told } = yield* play(({ a, snapshot }) =>
        Effect.map(
          a.resume(snapshot, snapshot.round!.pending.map((one) => Approval.approve(one))),
          ({ _tag }) => assert.strictEqual(_tag, "Completed")
        )
      )
      assert.deepStrictEqual(log, ["book", "pay"])
      assert.deepStrictEqual(told, [])
    }))

  it.effect("is not, if its snapshot is unreadable, reported as uncompensated", () =>
    Effect.gen(function*() {
      const { log, told } = yield* play(
        () => Effect.void,
        (a, life) => inner(a.pipe(Agent.provide(Approval.layerKey(Redacted.make(`${life}`.repeat(32))))) as never)
      )
      assert.deepStrictEqual(log, ["book"])
      assert.strictEqual(told.length, 1)
      assert.include(told[0], "could not be compensated")
    }))
})
