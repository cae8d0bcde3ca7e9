/** Recovery at its edges: entries that are there only sometimes, several tags, and errors of calls within a call. */
import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schedule, Schema } from "effect"
import { Agent, ConfigurationError, IdempotencyLedger, Recovery, Tool, ToolError } from "@recourse/core"
import { by, collect, Down, flaky } from "../support/kit.ts"

const Falls = Tool.make("falls", { success: Schema.Int, effects: "read", execute: () => Effect.fail(new Down()) })

const soon = { times: 2, schedule: Schedule.forever }

describe("a table with an entry that is `undefined`", () => {
  it.effect("handles no error there: it passes unchanged", () =>
    Effect.gen(function*() {
      const catchReasons = Recovery.catchReasons as (call: typeof Falls.call, cases: object) => typeof Falls.call
      const policy = Recovery.policy(
        { ExecutionError: undefined, InvalidArgs: "escalate" } as { InvalidArgs: "escalate" }
      )
      const reasons = catchReasons(Falls.call, { Down: undefined })
      assert.instanceOf(yield* Effect.flip(reasons.pipe(by({}))), ToolError.ExecutionError)
      assert.instanceOf(yield* Effect.flip(policy(Falls.call).pipe(by({}))), ToolError.ExecutionError)
    }))
})

describe("a handler of one reason", () => {
  it.effect("with the call as parameter has only the reason", () =>
    Effect.gen(function*() {
      const given: Array<ReadonlyArray<unknown>> = []
      const answer = yield* Recovery.catchReason(Falls.call, "Down", (...all: ReadonlyArray<unknown>) =>
        Effect.sync(() =>
          given.push(all)
        )).pipe(by({}))
      assert.strictEqual(answer, 1)
      assert.deepStrictEqual(given.map((all) => all.map((one) => one instanceof Down)), [[true]])
    }))
})

describe("an escalation with a reason of one's own", () => {
  const told = (error: unknown) => ({ reason: `it is ${(error as ToolError.ExecutionError<Down>).reason._tag}` })
  const ways = {
    "of a call": Falls.pipe(Tool.onError((call) => Recovery.escalateWith(call, "ExecutionError", told))),
    "behind a call": Falls.pipe(Tool.onError((call) => call.pipe(Recovery.escalateWith("ExecutionError", told))))
  }
  for (const [way, tool] of Object.entries(ways)) {
    it.effect(`${way} reaches the model and listeners`, () =>
      Effect.gen(function*() {
        const { events, layer } = collect()
        yield* Agent.make("a", { tools: [tool] }).run("x").pipe(
          Effect.provide(layer),
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("falls", {}), ScriptedModel.text("ok")]))
        )
        assert.deepInclude(events.find(({ _tag }) => _tag === "ToolEscalated"), {
          callId: "call_1",
          tool: "falls",
          code: "execution_error",
          reason: "it is Down",
          severity: "medium"
        })
      }))
  }
})

describe("a fallback that is no effect", () => {
  it.each<readonly [Parameters<typeof Recovery.fallback>[0], unknown, string]>([
    [
      "Timeout",
      undefined,
      "Recovery.fallback of Timeout: a fallback is an Effect, or a function that answers one, and this is undefined: is it declared below this line?"
    ],
    [
      ["Timeout", "CircuitOpen"] as never,
      1,
      "Recovery.fallback of Timeout, CircuitOpen: a fallback is an Effect, or a function that answers one, and this is a value of type number"
    ]
  ])("is refused by the names of its tags: %s", (tags, answer, message) => {
    try {
      Recovery.fallback(tags, answer as never)
    } catch (error) {
      assert.instanceOf(error, ConfigurationError.ConfigurationError)
      return assert.include((error as Error).message, message)
    }
    assert.fail("taken")
  })
})

describe("a retry", () => {
  it.effect("by a policy's entry does not apply to another error of a keyed write", () =>
    Effect.gen(function*() {
      let runs = 0
      const Pay = Tool.make("pay", {
        effects: "write",
        idempotency: true,
        timeout: "1 minute",
        execute: () => Effect.suspend(() => (runs++, Effect.fail(new Down())))
      })
      const times = (tag: "Timeout" | "ExecutionError") => {
        runs = 0
        const entry = { retry: soon, otherwise: "escalate" } as const
        const policy = tag === "Timeout"
          ? Recovery.policy({ Timeout: entry, OutcomeUnknown: "escalate" })
          : Recovery.policy({ ExecutionError: entry, OutcomeUnknown: "escalate" })
        return Effect.map(Effect.exit(policy(Pay.call).pipe(by({}, tag))), (exit) => [Exit.isFailure(exit), runs])
      }
      assert.deepStrictEqual(yield* times("Timeout"), [true, 1])
      assert.deepStrictEqual(yield* times("ExecutionError"), [true, 3])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("is not made for a read with a possible inner write", () =>
    Effect.gen(function*() {
      const { state, tool } = flaky(9, "write")
      let runs = 0
      const Read = Tool.make("read", {
        success: Schema.Number,
        effects: "read",
        execute: () => Effect.suspend(() => (runs++, tool.call.pipe(by({ n: 1 }))))
      }).pipe(Tool.onError(Recovery.retry(soon)))
      const error = yield* Effect.flip(Read.call.pipe(by({})))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      assert.deepStrictEqual([runs, state.runs], [1, 1])
    }))
})
