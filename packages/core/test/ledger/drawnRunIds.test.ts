/** Default keys of runs whose id was drawn, in a ledger that outlives the process. */
import { assert, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import { Agent, Conversation, IdempotencyLedger, Recovery, Tool } from "@recourse/core"
import { Prompt } from "effect/ai"
import { collectLogs } from "../support/kit.ts"

const payWith = (key: (() => string) | undefined) =>
  Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    idempotency: key === undefined ? true : { key },
    execute: () => Effect.succeed("paid")
  })

const clerkOf = (key?: () => string) =>
  Agent.make("clerk", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [payWith(key)],
    defaults: { onError: Recovery.standard }
  })

const persistent = IdempotencyLedger.layerKeyValueStore().pipe(Layer.provide(KeyValueStore.layerMemory))

/** The warnings of two runs over one ledger. */
const warnings = (
  clerk: ReturnType<typeof clerkOf>,
  options: { readonly runId?: string } = {},
  ledger: Layer.Layer<IdempotencyLedger.IdempotencyLedger, unknown> = persistent,
  how: "run" | "chat" = "run"
) =>
  Effect.gen(function*() {
    const { layer, messages } = collectLogs()
    const script = ScriptedModel.layer(({ prompt: { content } }) =>
      content.at(-1)?.role === "tool" ? ScriptedModel.text("done") : ScriptedModel.call("pay", {})
    )
    const run = (nth: number): Effect.Effect<unknown, unknown, any> =>
      how === "chat"
        ? Conversation.send(clerk, { owner: "ada", thread: `t${nth}`, message: "Pay" })
        : clerk.run(Prompt.make("Pay"), options.runId === undefined ? {} : { runId: `${options.runId}${nth}` })
    yield* Effect.andThen(run(1), run(2)).pipe(
      Effect.provide([script, Layer.fresh(ledger), Conversation.layerMemory, layer])
    )
    return messages
  }) as unknown as Effect.Effect<ReadonlyArray<string>>

it.effect("warns once that a default key does not survive a restart", () =>
  Effect.gen(function*() {
    const told = yield* warnings(clerkOf())
    assert.strictEqual(told.length, 1)
    assert.match(told[0]!, /tool "pay" does not survive a restart.*`runId`/)
  }))

it.effect.each(
  [
    ["the program gives the run id", warnings(clerkOf(), { runId: "order-" })],
    ["the key is the program's own", warnings(clerkOf(() => "order-7"))],
    ["the ledger is in memory", warnings(clerkOf(), {}, IdempotencyLedger.layerMemory)],
    ["a thread has the started writes", warnings(clerkOf(), {}, persistent, "chat")]
  ] as const
)("warns of nothing if %s", ([, told]) =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* told, [])
  }))
