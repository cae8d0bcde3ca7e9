/**
 * Levels of recovery: attempts add up and never multiply; permanent errors are not retried; waits grow and are bounded.
 */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schedule, Schema } from "effect"
import { Agent, ErrorProjection, ModelError, Recovery, Tool } from "@recourse/core"
import { by, collect } from "../support/kit.ts"
import { Down, type Recover } from "../support/failingReads.ts"

const { call, text } = ScriptedModel

/** A read that always fails, and how often it ran. */
const read = (execute: () => Effect.Effect<void, unknown> = () => Effect.fail(new Down())) => {
  const state = { runs: 0 }
  const tool = Tool.make("read", {
    effects: "read",
    timeout: "1 second",
    execute: () => Effect.suspend(() => (state.runs++, execute()))
  })
  return { state, tool }
}

/** Runs a read under recovery of the tool, of the agent for it, and of the agent for all tools. */
const attempts = (
  own: Recover | undefined,
  forIt: Recover | undefined,
  forAll: Recover | undefined,
  execute?: () => Effect.Effect<void, unknown>
) =>
  Effect.gen(function*() {
    const { state, tool } = read(execute)
    const seen = collect()
    const agent = Agent.make("a", {
      tools: [own === undefined ? tool : tool.pipe(Tool.onError(own as never))] as never,
      ...(forIt === undefined ? {} : { onToolError: { read: forIt } as never }),
      ...(forAll === undefined
        ? {}
        : { defaults: { onError: Object.assign((c: never) => forAll(c), Recovery.policy({})) as never } })
    }) as unknown as Agent.Agent<string, string, unknown, never>
    yield* Drive.drive(
      Effect.exit(agent.run("go")).pipe(
        Effect.provide(Layer.merge(ScriptedModel.layer([call("read", {}), text("done")]), seen.layer))
      )
    )
    return { runs: state.runs, events: seen.events }
  })

const ours = (times: number): Recover => (c) => Recovery.retry<unknown>({ times, while: () => true })(c)

const effects = (times: number): Recover => (c) => Effect.retry(c, { times })

describe("an error that a level has tried again", () => {
  const operators = { "Recovery.retry": ours, "Effect.retry": effects }

  for (const [inner, within] of Object.entries(operators)) {
    for (const [outer, around] of Object.entries(operators)) {
      it.effect(`is not tried again by ${outer} around ${inner}, on any two levels`, () =>
        Effect.gen(function*() {
          assert.strictEqual((yield* attempts(within(2), around(9), undefined)).runs, 3)
          assert.strictEqual((yield* attempts(within(2), undefined, around(9))).runs, 3)
          assert.strictEqual((yield* attempts(undefined, within(2), around(9))).runs, 3)
          assert.strictEqual((yield* attempts(within(2), around(9), around(9))).runs, 3)
          assert.strictEqual((yield* attempts(undefined, undefined, around(9))).runs, 10)
        }))
    }
  }

  it.effect("passes to the outer policy's other entry: three timeouts, not nine", () =>
    Effect.gen(function*() {
      const { events, runs } = yield* attempts(
        (c) => Recovery.retry({ times: 2 })(c),
        undefined,
        (c) => Recovery.standard(c),
        () => Effect.never
      )
      assert.strictEqual(runs, 3)
      assert.isTrue(events.some((event) => event._tag === "ToolEscalated" && event.code === "timeout"))
    }))

  it.effect("rethrown by name is neither retried nor fixed further out", () =>
    Effect.gen(function*() {
      const rethrows: Recover = (c) => Recovery.policy({ ExecutionError: "rethrow" })(c)
      let asked = 0
      const fixer = Agent.fromFunction("f", () => Effect.sync(() => (asked++, "{}")))
      const fixes: Recover = (c) => Recovery.fix("ExecutionError", fixer)(c as never)
      for (const around of [ours(9), effects(9), fixes]) {
        assert.strictEqual((yield* attempts(rethrows, around, undefined)).runs, 1)
        assert.strictEqual((yield* attempts(rethrows, undefined, around)).runs, 1)
        assert.strictEqual((yield* attempts(undefined, rethrows, around)).runs, 1)
      }
      assert.strictEqual(asked, 0)
      const escalates: Recover = (c) => Recovery.escalate("ExecutionError")(c as never)
      for (
        const levels of [[rethrows, escalates, undefined], [rethrows, undefined, escalates], [
          undefined,
          rethrows,
          escalates
        ]] as const
      ) {
        const { events } = yield* attempts(levels[0], levels[1], levels[2])
        assert.isTrue(events.some(({ _tag }) => _tag === "ToolEscalated"))
      }
    }))

  it.effect("is not fixed again either", () =>
    Effect.gen(function*() {
      let asked = 0
      const fixer = Agent.fromFunction("f", () => Effect.sync(() => (asked++, "{}")))
      const { runs } = yield* attempts(ours(2), (c) => Recovery.fix("ExecutionError", fixer)(c as never), undefined)
      assert.deepStrictEqual([runs, asked], [3, 0])
    }))

  it.effect("is not retried by another retry on the same level", () =>
    Effect.gen(function*() {
      const down = () => Effect.fail(new Down())
      const hang = () => Effect.never
      for (const execute of [down, hang]) {
        const runs = (own: Recover) => Effect.map(attempts(own, undefined, undefined, execute), ({ runs }) => runs)
        assert.strictEqual(yield* runs((c) => ours(3)(ours(2)(c))), 3)
        assert.strictEqual(yield* runs((c) => ours(3)(effects(2)(c))), 3)
        assert.strictEqual(yield* runs((c) => effects(3)(ours(2)(c))), 3)
        assert.strictEqual(yield* runs((c) => ours(3)(ours(0)(c))), 1)
        assert.strictEqual(yield* runs((c) => ours(3)(effects(0)(c))), 4)
      }
    }))

  it.effect("is not retried by a preset behind an explicit retry", () =>
    Effect.gen(function*() {
      for (const times of [0, 1, 2, 3]) {
        const onOneLevel: Recover = (c) => Recovery.standard(Recovery.retry({ times })(c))
        assert.strictEqual((yield* attempts(onOneLevel, undefined, undefined, () => Effect.never)).runs, times + 1)
        const apart = yield* attempts(
          (c) => Recovery.retry({ times })(c),
          undefined,
          (c) => Recovery.standard(c),
          () => Effect.never
        )
        assert.strictEqual(apart.runs, times + 1)
      }
    }))

  it.effect("is retried by a layer with evenIfRetried: attempts add up", () =>
    Effect.gen(function*() {
      const byName: Recover = (c) => Recovery.retry<unknown>({ times: 3, while: () => true, evenIfRetried: true })(c)
      assert.strictEqual((yield* attempts((c) => byName(ours(2)(c)), undefined, undefined)).runs, 6)
      assert.strictEqual((yield* attempts((c) => byName(effects(2)(c)), undefined, undefined)).runs, 12)
      assert.strictEqual((yield* attempts(ours(2), byName, undefined)).runs, 6)
      assert.strictEqual((yield* attempts(ours(2), undefined, byName)).runs, 6)
      assert.strictEqual((yield* attempts(undefined, ours(2), byName)).runs, 6)
      const rethrows: Recover = (c) => Recovery.policy({ ExecutionError: "rethrow" })(c)
      assert.strictEqual((yield* attempts(rethrows, byName, undefined)).runs, 1)
    }))

  it.effect("is retried behind a fixer on the same level", () =>
    Effect.gen(function*() {
      const fixer = Agent.fromFunction("f", () => Effect.succeed("{}"))
      const fixes: Recover = (c) => Recovery.fix("ExecutionError", fixer)(c as never)
      assert.strictEqual((yield* attempts((c) => ours(2)(fixes(c)), undefined, undefined)).runs, 6)
      assert.strictEqual((yield* attempts((c) => fixes(ours(2)(c)), undefined, undefined)).runs, 4)
    }))

  it.effect("two reasons have two counts", () =>
    Effect.gen(function*() {
      const policy = Recovery.policy({
        Timeout: { retry: { times: 2 }, otherwise: "escalate" },
        ExecutionError: { retry: { times: 3 }, otherwise: "escalate" }
      })
      let n = 0
      const { runs } = yield* attempts(
        undefined,
        undefined,
        (c) => policy(c),
        () => n++ % 2 === 0 ? Effect.never : Effect.fail(new Down())
      )
      // Timeout, failure, timeout, failure, timeout: both retries of timeouts are used up.
      assert.strictEqual(runs, 5)
    }))

  it.effect("another error falls through, if the inner level did not handle it", () =>
    Effect.gen(function*() {
      let n = 0
      const { runs } = yield* attempts(
        (c) => Recovery.retry({ times: 1, while: (error) => (error as { _tag: string })._tag === "Timeout" })(c),
        (c) => Recovery.retry({ times: 1 })(c),
        undefined,
        () => n++ === 0 ? Effect.never : n < 4 ? Effect.fail(new Down()) : Effect.void
      )
      assert.strictEqual(runs, 3)
    }))

  it.effect("an inner call's retried error is not retried by the outer tool", () =>
    Effect.gen(function*() {
      const { state, tool } = read()
      const within = tool.pipe(Tool.onError(Recovery.retry({ times: 2 })))
      for (const around of [Recovery.retry({ times: 2 }), Effect.retry({ times: 2 })]) {
        state.runs = 0
        const outer = Tool.make("outer", { effects: "read", execute: () => within.call }).pipe(
          Tool.onError(around as never)
        )
        yield* Drive.drive(Effect.exit(outer.call.pipe(by({})) as Effect.Effect<unknown>))
        assert.strictEqual(state.runs, 3)
      }
    }))
})

describe("declared failures", () => {
  const runsOf = (declaration: ErrorProjection.Declaration<unknown>, recover: Recover) =>
    Effect.gen(function*() {
      class Failure extends Schema.TaggedError<Failure>()("Failure", {}, ErrorProjection.declare(declaration)) {}
      let runs = 0
      const tool = Tool.make("find", {
        effects: "read",
        failure: Failure,
        execute: () => Effect.suspend(() => (runs++, Effect.fail(new Failure())))
      })
      yield* Drive.drive(Effect.exit(recover(tool.call.pipe((c) => c as never))).pipe(by({})))
      return runs
    })

  const table: ReadonlyArray<readonly [ErrorProjection.Declaration<unknown>, number]> = [
    ...["not_found", "permission_denied", "authentication", "idempotency_conflict", "unsafe_output"].map((code) =>
      [{ code }, 1] as const
    ),
    ...["rate_limited", "upstream_error", "timeout"].map((code) => [{ code }, 3] as const),
    [{ code: "sold_out" }, 1],
    [{ code: "sold_out", transient: true }, 3],
    [{ code: "sold_out", retryAfter: () => "1 second" }, 3],
    [{ code: "rate_limited", transient: false }, 1],
    [{ model: "words alone" }, 3]
  ]
  for (const [declaration, runs] of table) {
    it.effect(`${JSON.stringify(declaration)} is tried ${runs} times, by retry and by a policy`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* runsOf(declaration, (c) => Recovery.retry({ times: 2 })(c)), runs)
        const policy = Recovery.policy({ ExecutionError: { retry: { times: 2 }, otherwise: "rethrow" } })
        assert.strictEqual(yield* runsOf(declaration, (c) => policy(c)), runs)
      }))
  }

  it.effect("an entry's `while` says it itself", () =>
    Effect.gen(function*() {
      const policy = (again: boolean) =>
        Recovery.policy({ ExecutionError: { retry: { times: 2, while: () => again }, otherwise: "rethrow" } })
      assert.strictEqual(yield* runsOf({ code: "not_found" }, (c) => policy(true)(c)), 3)
      assert.strictEqual(yield* runsOf({ code: "timeout" }, (c) => policy(false)(c)), 1)
    }))
})

describe("waits", () => {
  it.effect("grow, with jitter", () =>
    Effect.gen(function*() {
      const { events } = yield* attempts(ours(3), undefined, undefined)
      const delays = events.flatMap((event) => event._tag === "ToolRetry" ? [event.delay] : [])
      assert.strictEqual(delays.length, 3)
      delays.forEach((delay, k) => {
        assert.isAtLeast(delay, 160 * 2 ** k)
        assert.isAtMost(delay, 240 * 2 ** k)
      })
    }))

  it("times that are no count are refused", () => {
    for (const times of [Number.NaN, -1, 1.5]) {
      for (
        const make of [
          () => Recovery.retry({ times }),
          () => ModelError.retry({ times }),
          () => Recovery.policy({ Timeout: { retry: { times }, otherwise: "escalate" } }),
          () =>
            read().tool.pipe(
              Tool.onError(Recovery.fix("InvalidArgs", Agent.fromFunction("f", () => Effect.succeed("{}")), { times }))
            )
        ]
      ) assert.throws(make, /times must be/)
    }
  })

  it.effect("a time-bounded schedule bounds the retries of model calls", () =>
    Effect.gen(function*() {
      const seen = collect()
      const agent = Agent.make("a", {
        onModelError: () =>
          ModelError.retry({
            times: Infinity,
            schedule: Schedule.spaced("10 seconds").pipe(Schedule.upTo({ duration: "1 minute" }))
          })
      })
      yield* Drive.drive(
        Effect.exit(agent.run("go")).pipe(
          Effect.provide(
            Layer.merge(
              ScriptedModel.layer(Array.from({ length: 60 }, () => ScriptedModel.failure("InternalProviderError"))),
              seen.layer
            )
          )
        )
      )
      assert.strictEqual(seen.tags().filter((tag) => tag === "ModelRetry").length, 7)
    }))

  it.effect("a wait longer than the run's remaining time is not waited", () =>
    Effect.gen(function*() {
      const { state, tool } = read()
      const agent = Agent.make("a", {
        tools: [
          tool.pipe(
            Tool.onError((c) =>
              c.pipe(
                Recovery.retry({ times: 9, schedule: Schedule.spaced("20 seconds") }),
                Recovery.escalate("ExecutionError", "InvalidArgs", "Timeout")
              )
            )
          )
        ],
        budget: { duration: "30 seconds" }
      })
      const answer = yield* Drive.drive(
        agent.run("go").pipe(Effect.provide(ScriptedModel.layer([call("read", {}), text("told in time")])))
      )
      assert.strictEqual(answer, "told in time")
      assert.strictEqual(state.runs, 2)
      assert.isAtMost(yield* Effect.clockWith((clock) => clock.currentTimeMillis), 25_000)
    }))

  it.effect("so is that of a model call", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        budget: { duration: "30 seconds" },
        onModelError: () => ModelError.retry({ times: 1, schedule: Schedule.spaced("1 minute") })
      })
      const exit = yield* Drive.drive(
        Effect.flip(agent.run("go")).pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.failure("InternalProviderError"), text("no")]))
        )
      )
      assert.strictEqual(exit._tag, "AiError")
    }))
})
