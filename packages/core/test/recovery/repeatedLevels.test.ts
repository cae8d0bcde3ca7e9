/** A level of recovery that runs again. */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Schema } from "effect"
import { LanguageModel } from "effect/ai"
import { CircuitBreaker } from "effect/persistence"
import { Agent, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { collect, lastResults } from "../support/kit.ts"
import { Down, type Recover } from "../support/failingReads.ts"

const { call, text } = ScriptedModel

describe("a repeated level", () => {
  const circuits = CircuitBreaker.layer({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "1 minute" }).pipe(
    Layer.provide(CircuitBreaker.layerStoreMemory())
  )

  /** A tool of these effects under recovery of the tool, of the agent for it, and of the agent for all; the arguments it ran with. */
  const played = (
    options: object,
    execute: (n: number) => Effect.Effect<string, unknown>,
    levels: readonly [own: Recover | undefined, forIt: Recover | undefined, forAll: Recover | undefined]
  ) =>
    Effect.gen(function*() {
      const ran: Array<number> = []
      const seen = collect()
      const [own = (c: never) => c, forIt = (c: never) => c, forAll = (c: never) => c] = levels
      const tool = Tool.make("t", {
        parameters: Schema.Struct({ n: Schema.Int }),
        success: Schema.Unknown,
        ...options,
        execute: ({ n }: { readonly n: number }) => Effect.suspend(() => (ran.push(n), execute(n)))
      } as never).pipe(Tool.onError(own as never))
      const agent = Agent.make("a", {
        tools: [tool] as never,
        onToolError: { t: forIt } as never,
        defaults: { onError: Object.assign((c: never) => forAll(c), Recovery.policy({})) as never }
      }) as unknown as Agent.Agent<string, string, unknown, never>
      const { model, script } = yield* ScriptedModel.make([call("t", { n: 1 }), text("done")])
      const exit = yield* Drive.drive(
        Effect.exit(agent.run("go")).pipe(
          Effect.provideService(LanguageModel.LanguageModel, model),
          Effect.provide(Layer.mergeAll(seen.layer, Layer.fresh(IdempotencyLedger.layerMemory), Layer.fresh(circuits)))
        )
      )
      const [, second] = yield* script.requests
      return { ran, exit, seen, told: second && lastResults(second.prompt)[0]?.result }
    })

  const rethrows: Recover = (c) => Recovery.policy({ ExecutionError: "rethrow" })(c)

  const again = (n: number): Recover => (c) =>
    Effect.catch(c, () =>
      Effect.flatMap(
        ToolCall.ToolCall,
        (call) => Effect.provideService(c, ToolCall.ToolCall, { ...call, arguments: { n } })
      ))

  const failsFor1 = (n: number) => n === 1 ? Effect.fail(new Down()) : Effect.succeed("two")

  it.effect("with other arguments runs: earlier decisions were about earlier ones", () =>
    Effect.gen(function*() {
      for (const levels of [[rethrows, again(2), undefined], [undefined, rethrows, again(2)]] as const) {
        const { ran, told } = yield* played({ effects: "read" }, failsFor1, levels)
        assert.deepStrictEqual([ran, told], [[1, 2], "two"])
      }
    }))

  it.effect("runs if it has failed before any attempt", () =>
    Effect.gen(function*() {
      for (const effects of ["read", "write"]) {
        let n = 0
        const closed: Recover = (c) => Effect.suspend(() => n++ === 0 ? Effect.fail(new Down()) : c)
        const { ran, told } = yield* played({ effects }, () => Effect.succeed("one"), [undefined, closed, (c) =>
          Effect.retry(c, { times: 1 })])
        assert.deepStrictEqual([ran, told], [[1], "one"])
      }
    }))

  it.effect("runs if it has succeeded", () =>
    Effect.gen(function*() {
      const twice: Recover = (c) => Effect.andThen(c, c)
      for (const levels of [[undefined, twice, undefined], [undefined, undefined, twice]] as const) {
        const { ran, told } = yield* played({ effects: "read" }, () => Effect.succeed("one"), levels)
        assert.deepStrictEqual([ran, told], [[1, 1], "one"])
      }
    }))

  it.effect("in parallel to itself, unrepeatable: runs once", () =>
    Effect.gen(function*() {
      const others: Array<unknown> = []
      const beside: Recover = (c) =>
        Effect.flatMap(
          Effect.all([Effect.exit(c), Effect.exit(c)], { concurrency: "unbounded" }),
          ([one, other]) => {
            others.push(...(Exit.isFailure(other) ? other.cause.reasons : []).filter(Cause.isFailReason))
            return one
          }
        )
      for (const effects of ["write", undefined]) {
        for (const levels of [[undefined, beside, undefined], [undefined, undefined, beside]] as const) {
          const { ran } = yield* played({ effects }, () => Effect.delay(Effect.succeed("one"), "1 second"), levels)
          assert.deepStrictEqual(ran, [1])
        }
      }
      assert.deepStrictEqual(
        others.map((reason) => (reason as Cause.Fail<{ readonly _tag: string }>).error._tag),
        ["OutcomeUnknown", "OutcomeUnknown"]
      )
    }))

  it.effect("unrepeatable: ends as before; recovery reruns only on unknown ends", () =>
    Effect.gen(function*() {
      const count = { runs: 0 }
      const counted = (recover: Recover): Recover => (c) => Effect.suspend(() => (count.runs++, recover(c)))
      const twice: Recover = (c) => Effect.catchCause(c, () => c)
      const ends: ReadonlyArray<readonly [Recover, number]> = [
        [(c) => c, 1],
        [(c) => Effect.as(Effect.catch(c, () => Effect.void), undefined), 1],
        [(c) => Effect.ensuring(c, Effect.die("a defect behind it")), 2],
        [(c) => Effect.catchCause(c, (cause) => Effect.failCause(Cause.combine(cause, Cause.die("beside it")))), 2]
      ]
      for (const [recover, runs] of ends) {
        for (
          const levels of [[counted(recover), twice, undefined], [undefined, counted(recover), twice]] as const
        ) {
          count.runs = 0
          const { ran } = yield* played({ effects: "write" }, failsFor1, levels)
          assert.deepStrictEqual([ran, count.runs], [[1], runs])
        }
      }
    }))

  it.effect("behind an open circuit ends as before, with a key too", () =>
    Effect.gen(function*() {
      const count = { runs: 0 }
      const counted: Recover = (c) => Effect.suspend(() => (count.runs++, c))
      const breaker: Recover = (c) => Effect.retry(Recovery.circuitBreaker()(c as never), { times: 1 }) as never
      for (const levels of [[counted, breaker, undefined], [undefined, counted, breaker]] as const) {
        count.runs = 0
        const { ran, seen } = yield* played({ effects: "write", idempotency: true }, failsFor1, levels)
        assert.deepStrictEqual([ran, count.runs], [[1], 1])
        assert.strictEqual(seen.tags().filter((tag) => tag === "ToolAttemptRefused").length, 1)
      }
    }))
})
