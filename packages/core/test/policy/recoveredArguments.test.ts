/** Arguments that a recovery makes pass the policies, however it makes them. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Policy, Recovery, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"

const cheap = Policy.make(
  "cheap",
  ({ arguments: args }) => (args as { readonly euros: number }).euros > 100 ? Policy.deny("too dear") : Policy.allow
)

type Call = Effect.Effect<string, unknown, ToolCall.ToolCall>

/** The payments of a call of 20 euros, which fails, behind a recovery. */
const paid = (recover: (call: Call) => Call) =>
  Effect.gen(function*() {
    const payments: Array<number> = []
    const Pay = Tool.make("pay", {
      parameters: Schema.Struct({ euros: Schema.Int }),
      success: Schema.String,
      effects: "idempotent",
      execute: ({ euros }) =>
        Effect.suspend(() =>
          payments.push(euros) === 1 ? Effect.fail("down" as const) : Effect.succeed(`paid ${euros}`)
        )
    })
    const agent = Agent.make("clerk", {
      tools: [Tool.onError(Pay as never, recover as never) as never],
      policies: [cheap],
      defaults: { onError: Recovery.keepGoing }
    } as never) as unknown as Agent.Agent<string, string, unknown, never>
    yield* Effect.exit(
      agent.run("Pay").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", { euros: 20 }), ScriptedModel.text("Done.")]))
      )
    )
    return payments
  })

const withEuros = (euros: number): Readonly<Record<string, (call: Call) => Call>> => ({
  "by ToolCall.make": (call) =>
    Effect.catch(
      call,
      () => Effect.provideService(call, ToolCall.ToolCall, ToolCall.make({ id: "other", arguments: { euros } }))
    ),
  "by the call's own ToolCall": (call) =>
    Effect.catch(
      call,
      () => Effect.updateService(call, ToolCall.ToolCall, (asked) => ({ ...asked, arguments: { euros } }))
    ),
  "by a fixer": (call) =>
    Recovery.fix("ExecutionError", Agent.fromFunction("fixer", () => Effect.succeed(JSON.stringify({ euros }))))(
      call as never
    ) as never
})

describe("other arguments of a recovery", () => {
  for (const [way, recover] of Object.entries(withEuros(500))) {
    it.effect(`are denied as those of the model are: ${way}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* paid(recover), [20])
      }))
  }
  for (const [way, recover] of Object.entries(withEuros(50))) {
    it.effect(`are executed if the policy allows them: ${way}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* paid(recover), [20, 50])
      }))
  }
})
