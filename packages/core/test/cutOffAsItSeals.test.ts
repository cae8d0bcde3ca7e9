/** An agent that has come to wait, and is cut off before anybody has its snapshot: its questions are off where it is left, and what it has done is undone. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { WebCrypto } from "effect/crypto"
import { Agent, Approval } from "@recourse/core"
import {
  asking,
  Boom,
  boss,
  both,
  call,
  fails,
  type Log,
  running,
  type Runs,
  tool,
  undoneOnce,
  type Waits,
  waits,
  watched
} from "./bookings.ts"
import { instantCrypto } from "./instantDigests.ts"

/** The first signature takes for ever. */
const slowSeal = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    let signs = 0
    const crypto = instantCrypto(() => signs++ === 0 ? new Promise<never>(() => {}) : undefined)
    return Effect.provideService(effect, WebCrypto.WebCrypto, crypto)
  })

const interrupted = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.flatMap(
    Effect.forkChild(effect, { startImmediately: true }),
    (fiber) => Effect.andThen(Effect.delay(Fiber.interrupt(fiber), "1 second"), Fiber.join(fiber))
  )

const isOff = (log: Log, seen: ReturnType<typeof watched>) => {
  undoneOnce(log, seen)
  const told = seen.events.filter((event) => event._tag === "ToolResult" && event.callId === "p")
  assert.strictEqual(told.length, 1)
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
    it.effect(`is undone as the run around it ends: ${name}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const exit = yield* running(slowSeal((form(waits(log, {}) as never) as Runs).run({})), seen, turns)
        assert.isTrue(Exit.isFailure(exit))
        isOff(log, seen)
      }))
  }

  it.effect("is undone where it asks itself, as nobody has its snapshot", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const agent = asking(waits(log, {}), (pending) => Effect.succeed(Approval.approve(pending)))
      const exit = yield* running(slowSeal(interrupted(agent.run({}))), seen)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.strictEqual(seen.compensations().length, 1)
    }))

  it.effect("asks on where it is the outermost one: its engine has what it has done", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      yield* running(slowSeal(interrupted((waits(log, {}) as unknown as Waits).start({}))), seen)
      assert.deepStrictEqual(log, ["book"])
      assert.deepStrictEqual(seen.audits.filter((line) => line.endsWith(" p")), ["approval_requested p"])
    }))
})

it.effect("an agent for which there is no level left fails with that, and begins nothing", () =>
  Effect.gen(function*() {
    const log: Log = []
    const inner = boss([tool(waits(log, {}), "a")], { instructions: "mid" })
    const exit = yield* running(
      (boss([tool(inner, "mid")], { budget: { levels: 1 } }) as unknown as Runs).run({}),
      watched(),
      { boss: [call("mid", {}, { id: "m" })], mid: [call("a", {}, { id: "a" })] }
    )
    assert.deepStrictEqual(
      Exit.isFailure(exit) && exit.cause.reasons.map((reason) => Cause.isFailReason(reason) && String(reason.error)),
      ["BudgetExceeded: Budget of agent \"boss\" exceeded: levels, limit 1, used 2"]
    )
    assert.deepStrictEqual(log, [])
  }))
