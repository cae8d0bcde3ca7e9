/** Results of tools, fit and unfit. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Agent, Recovery, Tool } from "@recourse/core"
import { BigDecimal, Effect, Exit, Option, Schema, SchemaGetter } from "effect"
import { LanguageModel } from "effect/ai"
import { lastResults } from "../support/kit.ts"

describe("a result", () => {
  it.effect("of a primitive is itself; others use schema form or fail", () =>
    Effect.gen(function*() {
      const told = Effect.fnUntraced(function*(success: Schema.Top, value: unknown) {
        const tool = Tool.make(
          "t",
          { success, effects: "read", execute: () => Effect.succeed(value) } as never
        ) as Tool.Any
        const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } } as never)
        return yield* Effect.gen(function*() {
          yield* Effect.exit(agent.run("x" as never) as Effect.Effect<unknown>)
          const [, second] = yield* (yield* ScriptedModel.ScriptedModel).requests
          const [result] = second === undefined ? [] : lastResults(second.prompt)
          return result === undefined ? "ended" : result.result
        }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("t", {}), ScriptedModel.text("done")])))
      })
      const cases: ReadonlyArray<readonly [Schema.Top, unknown, unknown]> = [
        [Schema.String, "x", "x"],
        [Schema.String, "", ""],
        [Schema.Boolean, false, false],
        [Schema.Number, 0, 0],
        [Schema.Number, 1.5, 1.5],
        [Schema.Number, NaN, "NaN"],
        [Schema.Number, -Infinity, "-Infinity"],
        [Schema.Finite, 1, 1],
        [Schema.Finite, NaN, "ended"],
        [Schema.String, 7, "ended"],
        [Schema.NumberFromString, 7, "7"],
        [Schema.Void, undefined, null],
        [Schema.Unknown, undefined, null],
        [Schema.Unknown, { a: undefined, b: 1n }, "ended"],
        [Schema.Unknown, { a: [undefined, 1] }, { a: [null, 1] }],
        [Schema.BigDecimal, BigDecimal.fromStringUnsafe("1.5"), "1.5"]
      ]
      for (const [success, value, expected] of cases) {
        assert.deepStrictEqual(yield* told(success, value), expected, `${String(value)} ${success.ast._tag}`)
      }
    }))
})

describe("a result that does not fit", () => {
  const played = (policy: unknown) =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("t", { success: Schema.Int, effects: "read", execute: () => Effect.succeed(++runs / 2) })
      const { model, script } = yield* ScriptedModel.make([ScriptedModel.call("t", {}), ScriptedModel.text("done")])
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: policy } } as never)
      const exit = yield* Effect.exit(
        agent.run("x") as Effect.Effect<unknown, { readonly _tag: string }, LanguageModel.LanguageModel>
      )
        .pipe(
          Effect.provideService(LanguageModel.LanguageModel, model)
        )
      const [, second] = yield* script.requests
      const failure = Option.getOrUndefined(Exit.findErrorOption(exit))
      return { runs, failure: failure?._tag, told: second && lastResults(second.prompt)[0] }
    })

  it.effect("is escalated if the policy does so, else ends the run", () =>
    Effect.gen(function*() {
      const escalated = yield* played(Recovery.policy({ InvalidResult: "escalate" }))
      assert.deepStrictEqual([escalated.runs, escalated.failure, escalated.told?.isFailure], [1, undefined, true])
      for (const policy of [Recovery.policy({}), Recovery.policy({ InvalidResult: "rethrow" }), undefined]) {
        const { failure, runs, told } = yield* played(policy)
        assert.deepStrictEqual([runs, failure, told], [1, "InvalidResult", undefined])
      }
    }))

  it.effect("is checked also if its schema is effectful", () =>
    Effect.gen(function*() {
      const Asked = Schema.Int.pipe(Schema.encodeTo(Schema.String, {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.transformEffect((n: number) => Effect.as(Effect.yieldNow, `number ${n}`))
      }))
      const told = (value: number) =>
        Effect.gen(function*() {
          const tool = Tool.make("t", { success: Asked, effects: "read", execute: () => Effect.succeed(value) })
          const { model, script } = yield* ScriptedModel.make([ScriptedModel.call("t", {}), ScriptedModel.text("done")])
          const agent = Agent.make("a", {
            tools: [tool],
            defaults: { onError: Recovery.policy({ InvalidResult: "escalate" }) }
          })
          yield* agent.run("x").pipe(Effect.provideService(LanguageModel.LanguageModel, model)) as Effect.Effect<
            unknown
          >
          return lastResults((yield* script.requests)[1]!.prompt)[0]
        })
      assert.strictEqual((yield* told(7))?.result, "number 7")
      assert.isTrue((yield* told(0.5))?.isFailure)
    }))
})
