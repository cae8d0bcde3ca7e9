/** Digests, and who makes them: the runtime's own, or the `WebCrypto` that a program brings. Both are the same. */
import { assert, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { WebCrypto } from "effect/crypto"
import { Agent, Audit, Policy, Recovery, Tool } from "@recourse/core"

const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ amount: Schema.Number, to: Schema.String }),
  effects: "write",
  execute: () => Effect.void
})

/** The hash of the arguments of a denied call, as the audit has it. */
const hashed = Effect.gen(function*() {
  const hashes: Array<string> = []
  const agent = Agent.make("clerk", {
    tools: [Pay],
    policies: [Policy.make("closed", () => Policy.deny("closed"))],
    defaults: { onError: Recovery.standard }
  })
  yield* agent.run("Pay").pipe(Effect.provide(Layer.merge(
    Audit.layer(({ argumentsHash }) => Effect.sync(() => hashes.push(argumentsHash))),
    ScriptedModel.layer([ScriptedModel.call("pay", { to: "Ada", amount: 5 }), ScriptedModel.text("no")])
  )))
  return hashes
})

it.live("a digest is SHA-256 of the JSON with sorted keys, by the program's own WebCrypto where it has one", () =>
  Effect.gen(function*() {
    let digests = 0
    const own = {
      subtle: {
        digest: (...args: Parameters<SubtleCrypto["digest"]>) => {
          digests++
          return crypto.subtle.digest(...args)
        }
      },
      randomUUID: () => crypto.randomUUID()
    } as Crypto
    const text = new TextEncoder().encode("{\"amount\":5,\"to\":\"Ada\"}")
    const expected = Buffer.from(yield* Effect.promise(() => crypto.subtle.digest("SHA-256", text))).toString("hex")
    assert.deepStrictEqual(yield* hashed, [expected])
    assert.strictEqual(digests, 0)
    assert.deepStrictEqual(yield* Effect.provideService(hashed, WebCrypto.WebCrypto, own), [expected])
    assert.isAbove(digests, 0)
  }))
