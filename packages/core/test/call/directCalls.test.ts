/**
 * A call that a program makes by hand once, and that is used in many calls of agents: it is another one in each of
 * them.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Fiber, Layer, Schema } from "effect"
import { Agent, IdempotencyLedger, Policy, Recovery, Tool, ToolCall } from "@recourse/core"
import { collect } from "../support/kit.ts"

const Args = Schema.Struct({ n: Schema.Number })

const kinds = [
  ["read", false],
  ["idempotent", false],
  ["idempotent", true],
  ["write", false],
  ["write", true]
] as const

/** A tool that numbers its executions, and a call of it that is made once. */
const standing = (effects: "read" | "idempotent" | "write", keyed: boolean, wait = false) => {
  let done = 0
  const tool = Tool.make("backup", {
    parameters: Args,
    success: Schema.Number,
    effects,
    ...(keyed ? { idempotency: true } : undefined),
    execute: () => Effect.andThen(wait ? Effect.yieldNow : Effect.void, Effect.sync(() => ++done))
  } as never) as never as Tool.Any & { readonly call: Effect.Effect<number, never, ToolCall.ToolCall> }
  const once = ToolCall.make({ id: "b", arguments: { n: 1 } })
  return { call: Effect.provideService(tool.call, ToolCall.ToolCall, once), done: () => done }
}

/** A tool that is down, and is answered for. */
const pay = (answer: Effect.Effect<number>) =>
  Tool.make("pay", {
    parameters: Args,
    success: Schema.Number,
    effects: "read",
    execute: () => Effect.fail("down" as const)
  }).pipe(Tool.onError(Recovery.fallback("ExecutionError", answer)))

/** A model that pays twice, in turn or at once. */
const model = (atOnce: boolean) =>
  ScriptedModel.layer(({ prompt }) => {
    const turn = prompt.content.filter(({ role }) => role === "tool").length
    if (turn === (atOnce ? 1 : 2)) return ScriptedModel.text("done")
    const one = (id: string) => ({ name: "pay", params: { n: 2 }, id })
    return ScriptedModel.calls(atOnce ? [one("c0"), one("c1")] : [one(`c${turn}`)])
  })

const agentOf = (answer: Effect.Effect<number>, options: object = {}) =>
  Agent.make(
    "lead",
    { tools: [pay(answer)], defaults: { onError: Recovery.standard }, ...options } as never
  ) as never as Agent.Agent<string, string, unknown, never>

describe("a call that is made by hand once", () => {
  for (const [effects, keyed] of kinds) {
    for (const atOnce of [false, true]) {
      it.effect(`${effects}${keyed ? " with a key" : ""}: runs for each call of each run${atOnce ? ", at once" : ""}`, () =>
        Effect.gen(function*() {
          const { call, done } = standing(effects, keyed, atOnce)
          const lead = agentOf(call)
          const ledger = yield* Effect.provide(IdempotencyLedger.IdempotencyLedger, IdempotencyLedger.layerMemory)
          const run = Effect.suspend(() => {
            const { events, layer } = collect()
            return Effect.as(
              lead.run("go").pipe(
                Effect.provide([layer, model(atOnce), Layer.succeed(IdempotencyLedger.IdempotencyLedger, ledger)])
              ),
              events
            )
          })
          const runs = yield* Effect.all([run, run], { concurrency: atOnce ? 2 : 1 })
          assert.strictEqual(done(), 4)
          for (const events of runs) {
            const told = events.flatMap((event) => event._tag === "ToolResult" ? [event.callId] : [])
            assert.deepStrictEqual(told.sort(), ["c0", "c0/b", "c1", "c1/b"])
          }
        }))
    }
  }

  it.effect("is visible to each run's policies, also after calls outside of runs", () =>
    Effect.gen(function*() {
      const { call, done } = standing("write", false)
      yield* call
      const seen: Array<string> = []
      const closed = Policy.make("closed", ({ callId }) => {
        seen.push(callId)
        return Policy.deny("closed")
      })
      const lead = agentOf(call, {
        policies: [
          Policy.make(
            "seen",
            ({ tool, ...request }) => tool === "backup" ? closed.decide({ tool, ...request }) : Policy.allow
          )
        ]
      })
      const fiber = yield* Effect.forkChild(Effect.provide(lead.run("go"), model(false)))
      yield* Fiber.join(fiber)
      assert.deepStrictEqual([done(), seen], [1, ["c0/b", "c1/b"]])
    }))

  it.effect("within one call is one: it is not done again", () =>
    Effect.gen(function*() {
      const { call, done } = standing("write", false)
      const lead = agentOf(Effect.zipWith(call, call, (a, b) => a + b))
      yield* Effect.provide(lead.run("go"), model(false))
      assert.strictEqual(done(), 2)
    }))
})
