/**
 * A waiting agent that is interrupted before a caller has its snapshot: its questions are withdrawn if it is abandoned,
 * and its writes are compensated.
 */
import { assert, describe, it } from "@effect/vitest"
import { VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer } from "effect"
import { WebCrypto } from "effect/crypto"
import { Agent, Approval, IdempotencyLedger, ToolCall } from "@recourse/core"
import {
  asking,
  book,
  Boom,
  boss,
  both,
  call,
  described,
  fails,
  interrupted,
  key,
  type Log,
  models,
  running,
  type Runs,
  text,
  tool,
  undoneOnce,
  type Waits,
  waits,
  type Watched,
  watched
} from "../support/bookings.ts"
import { instantCrypto } from "../support/instantDigests.ts"

/** The first signature takes for ever. */
const slowSeal = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    let signs = 0
    const crypto = instantCrypto(() => signs++ === 0 ? new Promise<never>(() => {}) : undefined)
    return Effect.provideService(effect, WebCrypto.WebCrypto, crypto)
  })

/** Events of the waiting call. */
const resultsOf = ({ events }: Watched) => events.filter((event) => event._tag === "ToolResult" && event.callId === "p")

const isOff = (log: Log, seen: Watched) => {
  undoneOnce(log, seen)
  assert.strictEqual(resultsOf(seen).length, 1)
}

describe("an agent that is cut off as its snapshot is sealed", () => {
  const forms: Readonly<Record<string, readonly [(a: Waits) => unknown, Parameters<typeof running>[2]]>> = {
    "one of several": [(a) => Agent.all("w", [a, fails]), {}],
    "an agent that is a tool": [(a) => boss([tool(a, "a"), Boom]), { boss: [both("a", "boom")] }],
    "one that asks": [
      (a) => Agent.all("w", [asking(a, (pending) => Effect.succeed(Approval.approve(pending))), fails]),
      {}
    ]
  }
  for (const [name, [form, turns]] of Object.entries(forms)) {
    it.effect(`is compensated as the outer run ends: ${name}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const exit = yield* running(slowSeal((form(waits(log, {}) as never) as Runs).run({})), seen, turns)
        assert.isTrue(Exit.isFailure(exit))
        isOff(log, seen)
      }))
  }

  it.effect("is compensated if it asks itself, because its snapshot stays private", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const agent = asking(waits(log, {}), (pending) => Effect.succeed(Approval.approve(pending)))
      const exit = yield* running(slowSeal(interrupted(agent.run({}))), seen)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.strictEqual(seen.compensations().length, 1)
      assert.strictEqual(resultsOf(seen).length, 1)
    }))

  it.effect("is compensated if a tool ran it by hand and continues", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const a = waits(log, {}) as unknown as Waits
      const hand = book([], "hand", {
        effects: "read",
        compensate: undefined,
        execute: () => Effect.as(Effect.timeoutOption(a.start({}), "1 second"), "late")
      })
      const agent = boss([hand]) as unknown as Runs
      const exit = yield* running(slowSeal(agent.run({})), seen, {
        boss: [call("hand", {}, { id: "h" }), text("done")]
      })
      assert.isTrue(Exit.isSuccess(exit))
      isOff(log, seen)
    }))

  it.effect("keeps asking if outermost: its engine has its writes", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      yield* running(slowSeal(interrupted((waits(log, {}) as unknown as Waits).start({}))), seen)
      assert.deepStrictEqual(log, ["book"])
      assert.deepStrictEqual(seen.audits.filter((line) => line.endsWith(" p")), ["approval_requested p"])
    }))
})

it.effect("an agent beyond the level cap fails with that, without starting", () =>
  Effect.gen(function*() {
    const log: Log = []
    const inner = boss([tool(waits(log, {}), "a")], { instructions: "mid" })
    const exit = yield* running(
      (boss([tool(inner, "mid")], { budget: { maxDepth: 1 } }) as unknown as Runs).run({}),
      watched(),
      { boss: [call("mid", {}, { id: "m" })], mid: [call("a", {}, { id: "a" })] }
    )
    assert.deepStrictEqual(
      Exit.isFailure(exit) && exit.cause.reasons.map((reason) => Cause.isFailReason(reason) && String(reason.error)),
      ["BudgetExceeded: Budget of agent \"boss\" exceeded: maxDepth, limit 1, used 2"]
    )
    assert.deepStrictEqual(log, [])
  }))

it.effect("an agent whose run cannot start fails with that error only", () =>
  Effect.gen(function*() {
    const exit = yield* running((waits([], {}) as unknown as Waits).start({}, { runId: "" }), watched())
    const reasons = Exit.isFailure(exit) ? exit.cause.reasons : []
    assert.strictEqual(reasons.length, 1)
    assert.include(String(Exit.isFailure(exit) && Cause.squash(exit.cause)), "a run id is not empty")
  }))

describe("an agent that is a tool", () => {
  /** Waits without a run that can resume it. */
  const agent = (log: Log) => {
    const A = tool(waits(log, {}), "a")
    const hand = book([], "hand", {
      effects: "read",
      compensate: undefined,
      execute: () =>
        Effect.provideService(A.call, ToolCall.ToolCall, ToolCall.make({ id: "x", arguments: {} })) as Effect.Effect<
          string
        >
    })
    return boss([hand]) as unknown as Runs
  }

  it.effect("called by another tool is compensated at any interruption while waiting", () =>
    Effect.gen(function*() {
      const turns = { boss: [call("hand", {}, { id: "h" }), text("It was denied.")] } as const
      const cutAt = (interruptAt: number) =>
        Effect.suspend(() => {
          const log: Log = []
          const seen = watched()
          return Effect.map(
            VirtualTime.run(
              agent(log).run({}).pipe(
                Effect.provide([seen.layer, key, models(turns)]),
                Effect.provideService(WebCrypto.WebCrypto, instantCrypto())
              ),
              { interruptAt }
            ),
            ({ operations }) => ({ log, operations, seen })
          )
        })
      const { operations } = yield* cutAt(Infinity)
      // The first operation at which it has come to wait.
      let [first, last] = [1, operations]
      while (first < last) {
        const middle = Math.floor((first + last) / 2)
        const { events } = (yield* cutAt(middle)).seen
        if (events.some((event) => event._tag === "AgentFinished" && event.outcome === "paused")) last = middle
        else first = middle + 1
      }
      for (let at = first; at < operations; at += 13) {
        const { log, seen } = yield* cutAt(at)
        assert.deepStrictEqual(log, ["book", "unbook"], `operation ${at}`)
        assert.strictEqual(resultsOf(seen).length, 1, `operation ${at}`)
      }
    }))

  it.effect("is completed under its key when resumed, not while waiting", () =>
    Effect.gen(function*() {
      const log: Log = []
      const A = (waits(log, {}) as unknown as Waits).pipe(
        Agent.asTool("a", { ...described, effects: "write", idempotency: true } as never)
      )
      const outer = boss([A]) as unknown as Waits
      const exit = yield* running(
        Effect.flatMap(outer.start({}), (paused) =>
          paused._tag === "Paused"
            ? outer.resume(paused.snapshot, paused.pending.map((one) => Approval.approve(one)))
            : assert.fail("it waits")).pipe(
            Effect.provide(Layer.fresh(IdempotencyLedger.layerMemory))
          ),
        watched(),
        { boss: [call("a", {}, { id: "a" }), text("done")] }
      )
      assert.strictEqual(Exit.isSuccess(exit) && exit.value._tag, "Completed")
      assert.deepStrictEqual(log, ["book", "pay"])
    }))
})
