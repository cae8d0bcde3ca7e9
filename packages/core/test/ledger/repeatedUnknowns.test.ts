/** Advice after an unknown outcome under an own key: safe only if a repeated call can get an answer. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, IdempotencyLedger, Reconciliation, Recovery, Tool, ToolCall } from "@recourse/core"
import { lastResults } from "../support/kit.ts"

const { call, text } = ScriptedModel

/** A payment whose first answer is lost, called twice by the model: the service's keys, and the model's results. */
const paid = (idempotency: object, answers: (n: number) => Effect.Effect<string, "declined">) =>
  Effect.gen(function*() {
    const keys: Array<string | undefined> = []
    const tool = Tool.make("pay", {
      parameters: Schema.Struct({ order: Schema.String }),
      success: Schema.String,
      effects: "write",
      timeout: "1 second",
      idempotency: { key: ({ order }: { readonly order: string }) => order, ...idempotency } as never,
      execute: () => Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) => answers(keys.push(idempotencyKey)))
    }).pipe(Tool.onError(Recovery.escalate("OutcomeUnknown")))
    const { model, script } = yield* ScriptedModel.make([
      call("pay", { order: "7" }, { id: "c1" }),
      call("pay", { order: "7" }, { id: "c2" }),
      text("done")
    ])
    yield* Drive.drive(
      Agent.make("a", { tools: [tool], defaults: { onError: Recovery.keepGoing } }).run("x").pipe(
        Effect.provideService(LanguageModel.LanguageModel, model),
        Effect.provide(IdempotencyLedger.layerMemory)
      ) as Effect.Effect<string>
    )
    const read = (yield* script.requests).slice(1).map(({ prompt }) => {
      const result = lastResults(prompt).at(-1)!.result as string | {
        readonly code: string
        readonly safe_to_retry: boolean
      }
      return typeof result === "string" ? result : [result.code, result.safe_to_retry]
    })
    return { keys, read }
  })

const lostFirst = (n: number): Effect.Effect<string, "declined"> => n === 1 ? Effect.never : Effect.succeed("paid")

describe("an unknown outcome under an own key", () => {
  it.effect("is not safe to repeat if no later call can get an answer", () =>
    Effect.gen(function*() {
      const { keys, read } = yield* paid({}, lostFirst)
      assert.deepStrictEqual([keys, read], [["7"], [["outcome_unknown", false], ["outcome_unknown", false]]])
    }))

  it.effect("is safe to repeat with reconcile, whose answer the model reads", () =>
    Effect.gen(function*() {
      const { keys, read } = yield* paid(
        { reconcile: () => Effect.succeed(Reconciliation.completed("found")) },
        lostFirst
      )
      assert.deepStrictEqual([keys, read], [["7"], [["outcome_unknown", true], "found"]])
    }))

  it.effect("is sent again under its key if the service deduplicates", () =>
    Effect.gen(function*() {
      const { keys, read } = yield* paid({ deduplicated: true }, lostFirst)
      assert.deepStrictEqual([keys, read], [["7", "7"], [["outcome_unknown", true], "paid"]])
    }))

  it.effect("is sent again if reconcile does not know and the service deduplicates", () =>
    Effect.gen(function*() {
      const reconcile = () => Effect.succeed(Reconciliation.unknown)
      const { keys, read } = yield* paid({ deduplicated: true, reconcile }, lostFirst)
      assert.deepStrictEqual([keys, read], [["7", "7"], [["outcome_unknown", true], "paid"]])
    }))

  it.effect("stays unknown if the second request is lost too", () =>
    Effect.gen(function*() {
      const { keys, read } = yield* paid({ deduplicated: true }, () => Effect.never)
      assert.deepStrictEqual([keys, read], [["7", "7"], [["outcome_unknown", true], ["outcome_unknown", true]]])
    }))
})
