/** Waits of recovery over the executions of a run: failures stay, and only the rest is waited for. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, Schedule, Schema, Stream } from "effect"
import { Agent, ErrorProjection, IdempotencyLedger, ModelError, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { ledgerStore } from "../../../core/test/fixtures/sharedStore.ts"

const minute = 60_000

class Busy extends Schema.TaggedError<Busy>()(
  "Busy",
  { minutes: Schema.Int },
  ErrorProjection.declare<{ readonly minutes: number }>({
    code: "rate_limited",
    retryAfter: ({ minutes }) => `${minutes} minutes`,
    outcome: "not_done"
  })
) {}

interface Attempt {
  readonly what: string
  readonly at: number
}

/** An agent whose model, read and keyed write fail, and are tried again after minutes. */
const clinic = () => {
  const attempts: Array<Attempt> = []
  const failures = new Map([["model", 2], ["look", 3], ["pay", 2]])
  /** Takes a while, and fails so often. */
  const tried = <A, E>(what: string, fail: Effect.Effect<A, E>, done: Effect.Effect<A>): Effect.Effect<A, E> =>
    Effect.gen(function*() {
      attempts.push({ what, at: yield* Clock.currentTimeMillis })
      yield* Effect.sleep("2 seconds")
      const left = failures.get(what) ?? 0
      failures.set(what, left - 1)
      return yield* left > 0 ? fail : done
    })
  const retry = Recovery.retry({
    times: 4,
    schedule: Schedule.exponential("1 minute"),
    maxRetryAfter: "10 minutes"
  })
  const Look = Tool.make("look", {
    success: Schema.String,
    failure: Busy,
    effects: "read",
    execute: () => tried("look", Effect.fail(new Busy({ minutes: 3 })), Effect.succeed("free"))
  }).pipe(Tool.onError(retry))
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    idempotency: true,
    execute: () => tried("pay", Effect.fail("down" as const), Effect.succeed("paid"))
  }).pipe(Tool.onError(retry))
  const agent = Durable.make(
    Agent.make("clinic", {
      tools: [Look, Pay],
      defaults: { onError: Recovery.keepGoing },
      onModelError: () => ModelError.retry({ times: 3, maxRetryAfter: "10 minutes", schedule: Schedule.forever }),
      budget: { duration: "1 hour", retriesPerTool: 3, turns: 6 }
    })
  )
  const model = ScriptedModel.layer(({ prompt }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    const left = failures.get("model") ?? 0
    if (turn === 1 && left > 0) {
      failures.set("model", left - 1)
      return ScriptedModel.failure("RateLimitError", { retryAfter: "5 minutes" })
    }
    const name = ["look", "pay"][turn]
    return name === undefined ? ScriptedModel.text("done") : ScriptedModel.call(name, {}, { id: `c${turn}` })
  })
  const ledger = Layer.suspend(() => IdempotencyLedger.layer(ledgerStore()))
  const store = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
  const around = Layer.mergeAll(Layer.succeedContext(store), ledger, model)
  const life = (options?: VirtualTime.Options) =>
    VirtualTime.run(
      agent.run("r1", "go").pipe(Effect.provide(Durable.layer([agent]).pipe(Layer.provide(around)))),
      { ...options, steps: 2_000_000 }
    )
  const told = Effect.orDie(Effect.provide(
    Effect.flatMap(Runs.Runs, (runs) => Stream.runCollect(runs.events("r1"))),
    Durable.layerClient([agent]).pipe(Layer.provide(Layer.succeedContext(store)))
  ))
  return { attempts, life, told }
}

const usageOf = (events: ReadonlyArray<Runs.NumberedEvent>) => {
  const last = events.at(-1)?.event
  assert.isTrue(last?._tag === "RunFinished")
  return last?._tag === "RunFinished" ? last.usage : undefined
}

describe("a wait of recovery", () => {
  it.live(
    "continues elsewhere with the next attempt, after its remaining time",
    () =>
      Effect.gen(function*() {
        const whole = clinic()
        const uncut = yield* whole.life()
        assert.deepEqual(uncut.exit, Exit.succeed("done"))
        assert.deepEqual(whole.attempts.map(({ what }) => what), [
          "look",
          "look",
          "look",
          "look",
          "pay",
          "pay",
          "pay"
        ])
        const usage = usageOf(yield* whole.told)
        const down = minute
        const cuts = 20
        let inWaits = 0
        for (let n = 1; n <= cuts; n++) {
          const killAt = Math.ceil((uncut.operations * n) / (cuts + 1))
          const world = clinic()
          const first = yield* world.life({ killAt })
          assert.strictEqual(first.stopped, "killed")
          const killed = first.elapsed
          const about = `killed at ${killed / 1000} s`
          const before = world.attempts.length
          const begun = world.attempts.at(-1)
          const isWaiting = begun !== undefined && killed > begun.at + 3000 && killed < uncut.elapsed - 3000
          if (isWaiting) inWaits++
          const last = yield* world.life({ startAt: killed + down, identity: 1 })
          assert.deepEqual(last.exit, Exit.succeed("done"), about)
          // Only running work is repeated.
          assert.isAtMost(world.attempts.length, whole.attempts.length + 1, about)
          if (isWaiting) assert.strictEqual(world.attempts.length, whole.attempts.length, about)
          // Whoever asked for time has it.
          const looks = world.attempts.filter(({ what }) => what === "look")
          for (const [index, { at }] of looks.entries()) {
            if (index > 0 && looks.length === 4) assert.isAtLeast(at - looks[index - 1]!.at, 3 * minute, about)
          }
          // Waits continued without a process: the run ends as soon as it would have, or after the rest was done at
          // once.
          assert.isAtMost(killed + down + last.elapsed, uncut.elapsed + down + 20_000, about)
          const rest = whole.attempts.slice(before).at(0)
          if (isWaiting && rest !== undefined && rest.at > killed + down + 20_000) {
            // The model's failures are in between: their waits may have ended while the process was down.
            const slack = before === looks.length ? down : 1000
            assert.isAtMost(world.attempts[before]!.at, rest.at + slack, about)
          }
          assert.deepEqual(usageOf(yield* world.told), usage, about)
        }
        assert.isAbove(inWaits, cuts / 2)
      }),
    60_000
  )

  it.live("counts for the run's deadline, in any execution", () =>
    Effect.gen(function*() {
      const store = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
      const Slow = Tool.make("slow", { effects: "read", execute: () => Effect.sleep("1 day") })
      const agent = Durable.make(
        Agent.make("slow", {
          tools: [Slow],
          defaults: { onError: Recovery.keepGoing },
          budget: { duration: "10 minutes" }
        })
      )
      const around = Layer.merge(Layer.succeedContext(store), ScriptedModel.layer([ScriptedModel.call("slow", {})]))
      const life = (options: { readonly startAt: number; readonly killAt?: number }) =>
        VirtualTime.run(
          agent.run("r1", "go").pipe(Effect.provide(Durable.layer([agent]).pipe(Layer.provide(around)))),
          { ...options, steps: 2_000_000 }
        )
      const first = yield* life({ startAt: 0, killAt: 40_000 })
      assert.strictEqual(first.stopped, "killed")
      assert.isAbove(first.elapsed, 3 * minute)
      const last = yield* life({ startAt: first.elapsed + 60 * minute })
      const error = yield* Effect.flip(last.exit)
      assert.strictEqual(error._tag === "RunFailed" && error.error, "BudgetExceeded")
      assert.isAtMost(last.elapsed, 10 * minute - first.elapsed + 10_000)
    }))
})
