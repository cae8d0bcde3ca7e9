/** A store of resumptions that claims a snapshot, and dies before it says so: where nobody can end what waited, somebody is told. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { Agent, Approval } from "@recourse/core"
import { boss, call, key, type Log, running, text, tool, type Waits, waits, watched } from "./bookings.ts"

/** Remembers what it has claimed. Of the claims with these numbers nobody hears. */
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

describe("a claim that nobody heard of", () => {
  for (const [name, form] of Object.entries(forms)) {
    const play = (store: Layer.Layer<never>, told = "is not undone here") =>
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

    it.effect(`leaves what was done, and says so: ${name}`, () =>
      Effect.gen(function*() {
        const { exit, log, told } = yield* play(losing(2))
        assert(Exit.isFailure(exit))
        assert.deepStrictEqual(log, ["book"])
        assert.strictEqual(told.length, 1)
        assert.include(told[0], "\"a\"")
      }))

    it.effect(`that cannot be made at all leaves what was done, and says that it could not be undone: ${name}`, () =>
      Effect.gen(function*() {
        let claims = 0
        const down = Layer.succeed(Approval.Resumptions, {
          claim: () => Effect.suspend(() => ++claims > 1 ? Effect.die("no connection") : Effect.succeed(true))
        })
        const { exit, log, told } = yield* play(down, "could not be undone")
        assert(Exit.isFailure(exit))
        assert.deepStrictEqual(log, ["book"])
        assert.strictEqual(told.length, 1)
        assert.include(told[0], "\"a\"")
        claims = 0
        assert.deepStrictEqual((yield* play(down)).told, [])
      }))

    it.effect(`is told of nobody where there is none: ${name}`, () =>
      Effect.gen(function*() {
        const { exit, log, told } = yield* play(losing())
        assert(Exit.isSuccess(exit))
        assert.deepStrictEqual([log, told], [["book", "pay"], []])
      }))
  }
})
