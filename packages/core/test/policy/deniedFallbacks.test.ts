/** Fallbacks that a policy denies: the call reports the known state of its own attempts. */
import { assert, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Agent, ErrorProjection, Policy, Recovery, Tool } from "@recourse/core"
import { lastResults } from "../support/kit.ts"

class Closed extends Schema.TaggedError<Closed>()(
  "Closed",
  {},
  ErrorProjection.declare({ code: "upstream_error", transient: false, outcome: "not_done" })
) {}

const backup = Tool.make("backup", { success: Schema.String, effects: "write", execute: () => Effect.succeed("paid") })

/** The code that the model reads of a payment whose fallback is denied. */
const codeOf = (failure: Effect.Effect<never, Closed>, effects: "read" | "write", how: "fallback" | "catch") =>
  Effect.gen(function*() {
    const catching = (
      call: Effect.Effect<string, { readonly _tag: string }>
    ): Effect.Effect<string, unknown, unknown> =>
      how === "fallback"
        ? Recovery.fallback("ExecutionError" as never, backup.call)(call as never)
        : Effect.catch(call, () => backup.call)
    const pay = Tool.make("pay", { success: Schema.String, failure: Closed, effects, execute: () => failure }).pipe(
      Tool.onError(catching as never)
    )
    const denies = Policy.make("no backup", ({ tool }) => tool === "backup" ? Policy.deny("no") : Policy.allow)
    const agent = Agent.make("clerk", {
      tools: [pay as never],
      policies: [denies],
      defaults: { onError: Recovery.keepGoing as never }
    }) as unknown as Agent.Agent<string, string, never, never>
    const script = ScriptedModel.layer([ScriptedModel.call("pay", {}), ScriptedModel.text("done")])
    return yield* Effect.gen(function*() {
      yield* agent.run("Pay")
      const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      return (lastResults(prompt)[0]?.result as { readonly code: string }).code
    }).pipe(Effect.provide(script))
  })

for (const how of ["fallback", "catch"] as const) {
  for (const effects of ["write", "read"] as const) {
    it.effect(`report a denial after a ${effects} declared not done: ${how}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* codeOf(Effect.fail(new Closed()), effects, how), "permission_denied")
      }))
  }
}

it.effect("report an unknown outcome after a write that died", () =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(codeOf(Effect.die("lost"), "write", "fallback"))
    assert.notDeepEqual(exit, yield* Effect.exit(Effect.succeed("permission_denied")))
  }))
