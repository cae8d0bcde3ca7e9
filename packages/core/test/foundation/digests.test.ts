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

const { sha256On } = await import(new URL("../../src/internal/foundation/digest.ts", import.meta.url).href) as {
  readonly sha256On: (runtime: object) => (text: string) => Effect.Effect<string>
}

/** The hash of a denied call's arguments in the audit. */
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

it.live("a digest is SHA-256 of sorted JSON, by the program's WebCrypto", () =>
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

it.effect.each<readonly [what: string, runtime: object]>([
  ["a browser", {}],
  ["a process without built-in modules", { process: {} }],
  ["a process without this module", { process: { getBuiltinModule: () => undefined } }],
  ["a module that cannot hash at once", { process: { getBuiltinModule: () => ({}) } }],
  ["this runtime", globalThis]
])(
  "a digest is the same on each runtime: %s",
  ([, runtime]) =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* sha256On(runtime)("ä"),
        "33e6d73fee82904c8d7afb78de1154d1e8dc2a0edb08120e63df5b9385c2d9cc"
      )
    })
)

it.effect("a digest is the runtime's own if it hashes synchronously", () =>
  Effect.gen(function*() {
    const hash = (...args: ReadonlyArray<string>) => args.join()
    const runtime = { process: { getBuiltinModule: (id: string) => id === "node:crypto" ? { hash } : undefined } }
    assert.strictEqual(yield* sha256On(runtime)("ä"), "sha256,ä,hex")
  }))
