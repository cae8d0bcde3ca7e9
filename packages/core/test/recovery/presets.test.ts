/**
 * `Recovery.standard` and `Recovery.keepGoing`, row by row: attempts, the model's next prompt, and the end of the run.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Schema } from "effect"
import { Agent, ErrorProjection, Recovery, Tool } from "@recourse/core"
import { lastResults } from "../support/kit.ts"

const run = (
  policy: typeof Recovery.standard | typeof Recovery.keepGoing,
  effects: Tool.Effects,
  declaration: ErrorProjection.Declaration<unknown> | undefined
) =>
  Effect.gen(function*() {
    class Failure extends Schema.TaggedError<Failure>()(
      "Failure",
      { secret: Schema.String },
      declaration === undefined ? {} : ErrorProjection.declare(declaration)
    ) {}
    let runs = 0
    const tool = Tool.make("find", {
      effects,
      failure: Failure,
      execute: () => Effect.suspend(() => (runs++, Effect.fail(new Failure({ secret: "hunter2" }))))
    })
    const agent = Agent.make("a", { tools: [tool], defaults: { onError: policy as typeof Recovery.standard } })
    return yield* Effect.gen(function*() {
      const exit = yield* Drive.drive(Effect.exit(agent.run("go")))
      const script = yield* ScriptedModel.ScriptedModel
      const told = Exit.isSuccess(exit) ? lastResults((yield* script.lastRequest).prompt)[0]?.result : undefined
      return { runs, code: (told as { readonly code: string } | undefined)?.code ?? "ends", told: JSON.stringify(told) }
    }).pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.call("find", {}), ScriptedModel.text("done")]))
    )
  })

/** The failure, the number of executions, and the model's results under either policy. */
const rows: ReadonlyArray<
  readonly [Tool.Effects, ErrorProjection.Declaration<unknown> | undefined, number, string, string]
> = [
  ["read", { code: "rate_limited" }, 3, "rate_limited", "rate_limited"],
  ["read", { code: "upstream_error" }, 3, "upstream_error", "upstream_error"],
  ["idempotent", { code: "timeout" }, 3, "timeout", "timeout"],
  ["write", { code: "rate_limited", outcome: "not_done" }, 3, "rate_limited", "rate_limited"],
  ["write", { code: "not_found", outcome: "not_done" }, 1, "not_found", "not_found"],
  ["write", { code: "sold_out", outcome: "not_done", transient: true }, 3, "sold_out", "sold_out"],
  ["write", { code: "rate_limited" }, 1, "outcome_unknown", "outcome_unknown"],
  ["read", { code: "not_found" }, 1, "not_found", "not_found"],
  ["read", { code: "permission_denied" }, 1, "permission_denied", "permission_denied"],
  ["read", { code: "sold_out", transient: true }, 3, "sold_out", "sold_out"],
  ["read", { code: "sold_out" }, 1, "ends", "sold_out"],
  ["read", { code: "authentication" }, 1, "ends", "authentication"],
  ["read", undefined, 1, "ends", "execution_error"]
]

describe("presets", () => {
  for (const [effects, declaration, runs, standard, keepGoing] of rows) {
    it.effect(`a ${effects} fails with ${JSON.stringify(declaration) ?? "an undeclared error"}`, () =>
      Effect.gen(function*() {
        const strict = yield* run(Recovery.standard, effects, declaration)
        assert.deepStrictEqual([strict.runs, strict.code], [runs, standard])
        const lax = yield* run(Recovery.keepGoing, effects, declaration)
        assert.deepStrictEqual([lax.runs, lax.code], [runs, keepGoing])
        assert.notInclude(lax.told, "hunter2")
      }))
  }
})
