/** Audit, events, marks and traces of a call made by a tool: the same as for every call. */

import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Exit, Schema } from "effect"
import { Recovery, Tool, ToolCall } from "@recourse/core"
import { agentOf, callOf, Closed, Down, type Inner, outerOf, played, write } from "../support/reportedCalls.ts"

/** Ways in which a tool ignores the outcome of an inner call. */
const swallowing: Readonly<Record<string, (inner: Inner) => Inner>> = {
  catch: (inner) => Effect.catch(inner, () => Effect.succeed("fine")),
  catchCause: (inner) => Effect.catchCause(inner, () => Effect.succeed("fine")),
  option: (inner) => Effect.as(Effect.option(inner), "fine"),
  "another answer in time": (inner) =>
    Effect.race(Effect.andThen(inner, Effect.never), Effect.delay(Effect.succeed("fine"), 5000)),
  "a failure of its own": (inner) => Effect.catch(inner, () => Effect.fail(new Down()))
}

describe("audits security-relevant calls made by tools in any case", () => {
  const unknown: Readonly<Record<string, Effect.Effect<string, unknown>>> = {
    "an undeclared error": Effect.fail(new Down()),
    "no answer": Effect.never,
    "a defect": Effect.die("broken")
  }
  for (const [way, swallow] of Object.entries(swallowing)) {
    for (const [how, answer] of Object.entries(unknown)) {
      it.effect(`${how} of a write: ${way}`, () =>
        Effect.gen(function*() {
          const pay = write(() => answer)
          const timed = how === "no answer" ? Effect.timeout(callOf(pay), "1 second") : callOf(pay)
          const { audit } = yield* played(
            agentOf([outerOf(() => swallow(how === "a defect" ? Effect.exit(timed) : timed))])
          )
          assert.deepStrictEqual(audit.filter((record) => record.endsWith("/pay_1")), [
            ...(how === "a defect" ? ["defect pay c/pay_1"] : []),
            "outcome_unknown pay c/pay_1"
          ])
        }))
    }

    it.effect(`a key of other arguments: ${way}`, () =>
      Effect.gen(function*() {
        const pay = Tool.make("pay", {
          parameters: Schema.Struct({ to: Schema.String }),
          success: Schema.String,
          effects: "write",
          idempotency: { key: () => "same" },
          execute: ({ to }) => Effect.succeed(to)
        })
        const to = (name: string) =>
          Effect.provideService(pay.call, ToolCall.ToolCall, ToolCall.make({ id: name, arguments: { to: name } }))
        const { audit } = yield* played(
          agentOf([outerOf(() => Effect.andThen(to("Ada") as never, swallow(to("Bob") as never)))])
        )
        assert.deepStrictEqual(audit.filter((record) => record.includes("pay")), ["idempotency_conflict pay c/Bob"])
      }))
  }

  it.effect("audits a retried call once, and not one without effect", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.fail(new Down()))
      const closed = write(() => Effect.fail(new Closed()), { failure: Closed })
      const look = Tool.make("look", { effects: "read", execute: () => Effect.fail(new Down()) }) as Tool.Any
      const again = yield* played(
        agentOf([outerOf(() => Effect.option(Effect.retry(callOf(pay), { times: 2 })))])
      )
      assert.deepStrictEqual(again.audit, ["outcome_unknown pay c/pay_1"])
      const harmless = yield* played(
        agentOf([outerOf(() => Effect.all([Effect.option(callOf(closed)), Effect.option(callOf(look))]))])
      )
      assert.deepStrictEqual(harmless.audit, [])
    }))

  it.effect("ends the run if the audit cannot be written", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.fail(new Down()))
      const { exit, results } = yield* played(
        agentOf([outerOf(() => Effect.catchCause(callOf(pay), () => Effect.succeed("fine")))]),
        () => Effect.die("disk full")
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(results, [])
    }))

  it.effect("as the run ends while it runs", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.never)
      const agent = agentOf([outerOf(() => callOf(pay))], { budget: { duration: "1 second" } })
      const { audit } = yield* played(agent)
      assert.deepStrictEqual(audit, ["outcome_unknown pay c/pay_1", "outcome_unknown outer c"])
    }))
})

describe("a mark of such a call's result is one of the result around it", () => {
  const cached = (source: string, year: number): Tool.Any =>
    Tool.make(`from_${source}`, {
      success: Schema.Number,
      effects: "read",
      execute: () => Effect.fail(new Down())
    }).pipe(Tool.onError(Recovery.fallback("ExecutionError", Effect.succeed(9), {
      degraded: { source, asOf: DateTime.makeUnsafe(`${year}-01-01T00:00:00Z`) }
    }))) as never
  const price = cached("cache", 2026)

  it.effect("at whatever depth, in the executor and as a fallback", () =>
    Effect.gen(function*() {
      const mark = { source: "cache", asOf: "2026-01-01T00:00:00.000Z" }
      const middle = Tool.make("middle", {
        success: Schema.Unknown,
        effects: "read",
        execute: () => callOf(price) as never
      })
      const failing = Tool.make("outer", {
        success: Schema.Number,
        effects: "read",
        execute: () => Effect.fail(new Down())
      }).pipe(
        Tool.onError(Recovery.fallback("ExecutionError", callOf(price) as Effect.Effect<number>))
      ) as unknown as Tool.Any
      for (const tool of [outerOf(() => callOf(price)), outerOf(() => callOf(middle as never)), failing]) {
        const { resultOf, results } = yield* played(agentOf([tool]))
        assert.deepStrictEqual(results, [{ degraded: mark, result: 9 }])
        assert.deepStrictEqual(resultOf("c").map(({ degraded }) => degraded), [mark])
      }
      const { resultOf } = yield* played(agentOf([outerOf(() => callOf(price))]))
      assert.deepStrictEqual(resultOf("c/from_cache_1").map(({ degraded, result }) => ({ degraded, result })), [
        { degraded: mark, result: { degraded: mark, result: 9 } }
      ])
    }))

  it.effect("several are one: all sources, and the time of the oldest", () =>
    Effect.gen(function*() {
      const tool = outerOf(() => Effect.all([callOf(price), callOf(cached("backup", 2020)), callOf(price)]))
      const { results } = yield* played(agentOf([tool]))
      assert.deepStrictEqual(results, [
        { degraded: { source: "cache, backup", asOf: "2020-01-01T00:00:00.000Z" }, result: [9, 9, 9] }
      ])
    }))

  it.effect("of an attempt whose answer is not used there is none", () =>
    Effect.gen(function*() {
      let attempts = 0
      const tool = Tool.make("outer", {
        success: Schema.Unknown,
        effects: "read",
        execute: () =>
          ++attempts === 1 ? Effect.andThen(callOf(price) as never, Effect.fail(new Down())) : Effect.succeed(1)
      }).pipe(Tool.onError((c) => Effect.retry(c, { times: 1 }))) as unknown as Tool.Any
      const { results } = yield* played(agentOf([tool]))
      assert.deepStrictEqual(results, [1])
    }))

  it.effect("of a call that has failed behind it there is none", () =>
    Effect.gen(function*() {
      const failing = {
        "with an error": Tool.make("middle", {
          success: Schema.Unknown,
          effects: "read",
          execute: () => Effect.andThen(callOf(price) as never, Effect.fail(new Down()))
        }),
        "as what was answered in its place does not fit": Tool.make("middle", {
          success: Schema.Number,
          effects: "read",
          execute: () => Effect.fail(new Down())
        }).pipe(
          Tool.onError(
            Recovery.fallback("ExecutionError", Effect.succeed("x" as never), { degraded: { source: "cache" } })
          )
        )
      }
      for (const [how, middle] of Object.entries(failing)) {
        const { resultOf, results } = yield* played(
          agentOf([outerOf(() => Effect.orElseSucceed(callOf(middle as never), () => 1))])
        )
        assert.deepStrictEqual(results, [1], how)
        assert.deepStrictEqual(resultOf("c").map(({ degraded }) => degraded), [undefined], how)
      }
    }))

  it.effect("and none stays of a fallback whose answer was refused", () =>
    Effect.gen(function*() {
      let attempts = 0
      const tool = Tool.make("outer", {
        success: Schema.Number,
        effects: "read",
        execute: () => ++attempts === 1 ? Effect.fail(new Down()) : Effect.succeed(1)
      }).pipe(
        Tool.onError((c) =>
          c.pipe(
            Recovery.fallback("ExecutionError", Effect.succeed(9), { degraded: { source: "cache" } }),
            Effect.filterOrFail((n) => n !== 9, () => new Down()),
            Effect.retry({ times: 1 })
          )
        )
      ) as unknown as Tool.Any
      const { results } = yield* played(agentOf([tool]))
      assert.deepStrictEqual(results, [1])
    }))
})
