import { ScriptedModel } from "@recourse/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { AiError } from "effect/ai"
import { Agent } from "@recourse/core"
import { collect } from "./kit.ts"

const unknownModel = AiError.make({
  module: "test",
  method: "call",
  reason: new AiError.InvalidRequestError({ parameter: "model" })
})

for (
  const [turn, code, text, retryAfter] of [
    [
      ScriptedModel.failure("RateLimitError", { retryAfter: "90 seconds" }),
      "rate_limited",
      /too many requests/,
      90_000
    ],
    [ScriptedModel.failure("QuotaExhaustedError"), "quota_exhausted", /quota is used up/, undefined],
    [ScriptedModel.failure("InvalidRequestError"), "invalid_request", /put it another way/, undefined],
    [ScriptedModel.failWith(unknownModel), "model_not_found", /model was not found/, undefined],
    [ScriptedModel.failure("UnknownError"), "execution_error", /went wrong/, undefined]
  ] as const
) {
  it.effect(`a run that ends with a failed model call says what and when to its user: ${code}`, () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      yield* Effect.exit(Agent.make("m", {}).run("x")).pipe(Effect.provide([ScriptedModel.layer([turn]), layer]))
      const last = events.at(-1)
      if (last?._tag !== "RunFinished") return assert.fail("no end")
      assert.deepStrictEqual([last.code, last.retryAfter], [code, retryAfter])
      assert.match(last.userMessage ?? "", text)
    }))
}
