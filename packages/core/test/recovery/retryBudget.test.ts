import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Agent, Policy, Recovery, RetryBudget, Tool } from "@recourse/core"
import { by, collect, Down, flaky, lastResults } from "../support/kit.ts"

const down = () => {
  const state = { runs: 0 }
  const tool = Tool.make("down", {
    effects: "read",
    execute: () => Effect.suspend(() => (state.runs++, Effect.fail(new Down())))
  })
  return { state, tool }
}

const times = (n: number) => Array.from({ length: n }, (_, index) => `c${index}`)

describe("the budget", () => {
  it.effect("is a share of the calls", () =>
    Effect.gen(function*() {
      const budget = RetryBudget.make({ share: 0.1, minPerSecond: 0 })
      assert.isFalse(yield* budget.withdraw)
      yield* Effect.replicateEffect(budget.deposit, 9)
      assert.isFalse(yield* budget.withdraw)
      yield* budget.deposit
      assert.isTrue(yield* budget.withdraw)
      assert.isFalse(yield* budget.withdraw)
    }))

  it.effect("has a minimum for each second of its window", () =>
    Effect.gen(function*() {
      const budget = RetryBudget.make({ share: 0, minPerSecond: 2, window: "5 seconds" })
      const answers = yield* Effect.replicateEffect(budget.withdraw, 11)
      assert.deepStrictEqual(answers.map((isPaid, index) => isPaid === index < 10), answers.map(() => true))
    }))

  it.effect("forgets calls and retries that have left its window", () =>
    Effect.gen(function*() {
      const budget = RetryBudget.make({ share: 1, minPerSecond: 0, window: "10 seconds" })
      yield* Effect.replicateEffect(budget.deposit, 3)
      yield* TestClock.adjust("9 seconds")
      assert.isTrue(yield* budget.withdraw)
      yield* TestClock.adjust("1 second")
      // The calls are gone; the retry is not, and is not made up for.
      assert.isFalse(yield* budget.withdraw)
      yield* Effect.replicateEffect(budget.deposit, 2)
      assert.isTrue(yield* budget.withdraw)
      assert.isFalse(yield* budget.withdraw)
      yield* TestClock.adjust("9 seconds")
      yield* budget.deposit
      assert.isTrue(yield* budget.withdraw)
    }))

  it.effect("ignores changes of the wall clock", () =>
    Effect.gen(function*() {
      const clock = yield* Clock.Clock
      const at = (offset: number): Clock.Clock => ({
        ...clock,
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + offset,
        currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + offset),
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(offset) * 1_000_000n,
        currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now + BigInt(offset) * 1_000_000n),
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        sleep: (duration) => clock.sleep(duration)
      })
      for (const offset of [-3_600_000, 3_600_000]) {
        const budget = RetryBudget.make({ share: 1, minPerSecond: 0, window: "10 seconds" })
        yield* budget.deposit
        yield* TestClock.adjust("1 second")
        assert.isTrue(yield* budget.withdraw.pipe(Effect.provideService(Clock.Clock, at(offset))))
        yield* budget.deposit
        yield* TestClock.adjust("10 seconds")
        assert.isFalse(yield* budget.withdraw.pipe(Effect.provideService(Clock.Clock, at(offset))))
      }
    }))

  it.effect("defaults to one retry per five calls, and ten per second", () =>
    Effect.gen(function*() {
      for (const budget of [RetryBudget.make(), RetryBudget.make({})]) {
        yield* Effect.replicateEffect(budget.deposit, 10)
        const answers = yield* Effect.replicateEffect(budget.withdraw, 200)
        assert.strictEqual(answers.filter((isPaid) => isPaid).length, 102)
        yield* TestClock.adjust("9 seconds")
        assert.isFalse(yield* budget.withdraw)
        yield* TestClock.adjust("1 second")
        assert.isTrue(yield* budget.withdraw)
      }
    }))

  it.effect.each<readonly [options: RetryBudget.Options, retries: number]>([
    [{ share: 0, minPerSecond: 0 }, 0],
    [{ share: 1000, minPerSecond: 0 }, 1000],
    [{ minPerSecond: 1, share: 0, window: "1 second" }, 1],
    [{ minPerSecond: 1, share: 0, window: "60 seconds" }, 60]
  ])("takes the least and the most that make sense: %o", ([options, retries]) =>
    Effect.gen(function*() {
      const budget = RetryBudget.make(options)
      yield* budget.deposit
      const answers = yield* Effect.replicateEffect(budget.withdraw, retries + 1)
      assert.strictEqual(answers.filter((isPaid) => isPaid).length, retries)
    }))

  it("does not take numbers that make no sense", () => {
    for (
      const options of [{ share: -1 }, { share: 1001 }, { minPerSecond: -1 }, { window: 10 }, { window: "2 minutes" }]
    ) {
      assert.throws(() => RetryBudget.make(options as RetryBudget.Options), "RetryBudget")
    }
  })
})

describe("retries under a budget", () => {
  it.effect("stay below a share of the process's calls, and runs continue", () =>
    Effect.gen(function*() {
      const { state, tool } = down()
      const agent = (name: string) =>
        Agent.make(name, {
          tools: [tool.pipe(Tool.onError(Recovery.retry({ times: 3, schedule: Schedule.forever })))],
          repeatedFailures: 100,
          defaults: { onError: Recovery.policy({ ExecutionError: "escalate" }) }
        })
      const run = (name: string) =>
        Effect.gen(function*() {
          yield* agent(name).run("go")
          return lastResults((yield* (yield* ScriptedModel.ScriptedModel).lastRequest).prompt)
        }).pipe(
          Effect.provide(ScriptedModel.layer([
            ScriptedModel.calls(times(10).map((id) => ({ name: "down", params: {}, id }))),
            ScriptedModel.text("ok")
          ]))
        )
      const results = yield* Effect.forEach(["one", "two"], run)
      // 20 calls, and a fifth of them again.
      assert.strictEqual(state.runs, 24)
      assert.isTrue(
        results.flat().every(({ result }) => (result as { readonly code: string }).code === "execution_error")
      )
    }).pipe(Effect.provide(RetryBudget.layer({ share: 0.2, minPerSecond: 0 }))))

  it.effect("that are lawful stop at once, without waiting for the next", () =>
    Effect.gen(function*() {
      const { state, tool } = down()
      const { events, layer } = collect()
      const agent = Agent.make("a", {
        tools: [tool.pipe(Tool.onError(Recovery.retry({ times: 5, schedule: Schedule.spaced("1 second") })))],
        defaults: { onError: Recovery.policy({ ExecutionError: "escalate" }) }
      })
      yield* Drive.drive(agent.run("go")).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("down", {}), ScriptedModel.text("ok")])),
        Effect.provide(layer)
      )
      assert.strictEqual(state.runs, 3)
      assert.strictEqual(yield* Clock.currentTimeMillis, 2000)
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolAttemptRefused" ? [event.because] : []),
        ["retry_budget"]
      )
    }).pipe(Effect.provide(RetryBudget.layer({ share: 2, minPerSecond: 0 }))))

  it.effect("that are Effect's own get the last error at once", () =>
    Effect.gen(function*() {
      const { state, tool } = down()
      const retried = tool.pipe(Tool.onError((call) => Effect.retry(call, { times: 5 })))
      const error = yield* Effect.flip(retried.call.pipe(by({})))
      assert.strictEqual(error._tag, "ExecutionError")
      assert.strictEqual(error.attempt, 2)
      assert.strictEqual(state.runs, 2)
    }).pipe(Effect.provide(RetryBudget.layer({ share: 1, minPerSecond: 0 }))))

  describe("of a call that was cut off, and has no last error", () => {
    const none = RetryBudget.layer({ share: 0, minPerSecond: 0 })
    const hanging = (effects: "read" | "write" | undefined) => {
      const state = { runs: 0 }
      const tool = Tool.make("hang", {
        success: Schema.String,
        ...(effects === undefined ? {} : { effects }),
        execute: () => Effect.suspend(() => (state.runs++, Effect.never))
      })
      return { state, tool }
    }
    const again = <A, E, R>(call: Effect.Effect<A, E, R>) =>
      call.pipe(Effect.timeout("2 seconds"), Effect.retry({ times: 3 }))

    for (const [effects, code] of [["read", "timeout"], [undefined, "outcome_unknown"]] as const) {
      it.effect(`end the call of effects ${effects} with "${code}", and the model continues`, () =>
        Effect.gen(function*() {
          const { state, tool } = hanging(effects)
          const agent = Agent.make("a", { tools: [tool], onToolError: { hang: again } })
          const { prompt } = yield* Drive.drive(
            Effect.andThen(agent.run("go"), Effect.flatMap(ScriptedModel.ScriptedModel, (model) => model.lastRequest))
          ).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("hang", {}), ScriptedModel.text("ok")])))
          assert.strictEqual(state.runs, 1)
          assert.deepStrictEqual(
            lastResults(prompt).map(({ result }) => (result as { readonly code: string }).code),
            [code]
          )
        }).pipe(Effect.provide(none)))
    }

    it.effect("leave a write's outcome unknown", () =>
      Effect.gen(function*() {
        const { state, tool } = hanging("write")
        const error = yield* Drive.drive(Effect.flip(tool.pipe(Tool.onError(again)).call.pipe(by({}))))
        assert.strictEqual(error._tag, "OutcomeUnknown")
        assert.strictEqual(state.runs, 1)
      }).pipe(Effect.provide(none)))

    it.effect("interrupt a call by hand, like its predecessor", () =>
      Effect.gen(function*() {
        const { state, tool } = hanging("read")
        const exit = yield* Drive.drive(Effect.exit(tool.pipe(Tool.onError(again)).call.pipe(by({}))))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
        assert.strictEqual(state.runs, 1)
      }).pipe(Effect.provide(none)))

    it.effect("return a policy's answer again", () =>
      Effect.gen(function*() {
        const { state, tool } = hanging("read")
        const agent = Agent.make("a", {
          tools: [tool],
          onToolError: { hang: Effect.repeat({ times: 1 }) },
          policies: [Policy.make("p", () => Policy.substitute("in its place"))]
        })
        const { prompt } = yield* Effect.andThen(
          agent.run("go"),
          Effect.flatMap(ScriptedModel.ScriptedModel, (model) => model.lastRequest)
        ).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("hang", {}), ScriptedModel.text("ok")])))
        assert.strictEqual(state.runs, 0)
        assert.deepStrictEqual(lastResults(prompt).map(({ result }) => result), ["in its place"])
      }).pipe(Effect.provide(none)))
  })

  it.effect("are paid for once for all callers", () =>
    Effect.gen(function*() {
      const { state, tool } = flaky(2, "read")
      const retried = tool.pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever })))
      assert.strictEqual(yield* retried.call.pipe(by({ n: 1 })), 1)
      assert.strictEqual(state.runs, 3)
    }).pipe(Effect.provide(RetryBudget.layer({ share: 2, minPerSecond: 0 }))))

  it.effect("of several recoveries are each paid for", () =>
    Effect.gen(function*() {
      const { state, tool } = down()
      const retried = tool.pipe(
        Tool.onError((call) =>
          call.pipe(
            Recovery.retry({ times: 1, schedule: Schedule.forever }),
            Recovery.retry({ times: 5, schedule: Schedule.forever, evenIfRetried: true })
          )
        )
      )
      yield* Effect.flip(retried.call.pipe(by({})))
      assert.strictEqual(state.runs, 3)
    }).pipe(Effect.provide(RetryBudget.layer({ share: 2, minPerSecond: 0 }))))

  it.effect("are not earned by fixes", () =>
    Effect.gen(function*() {
      const { state, tool } = flaky(9, "read")
      const fixer = Agent.fromFunction("fixer", () => Effect.succeed("{\"n\":1}"))
      const recovered = tool.pipe(
        Tool.onError((call) =>
          call.pipe(Recovery.fix("InvalidArgs", fixer), Recovery.retry({ times: 5, schedule: Schedule.forever }))
        )
      )
      yield* Effect.flip(recovered.call.pipe(by({ n: "one" })))
      // One call is one retry: the call is fixed and run, and once more.
      assert.strictEqual(state.runs, 2)
    }).pipe(Effect.provide(RetryBudget.layer({ share: 1, minPerSecond: 0 }))))

  it.effect("are not limited without one", () =>
    Effect.gen(function*() {
      const { state, tool } = down()
      yield* Effect.flip(
        tool.pipe(Tool.onError(Recovery.retry({ times: 50, schedule: Schedule.forever }))).call.pipe(by({}))
      )
      assert.strictEqual(state.runs, 51)
    }))
})
