/** Tools of `effect/ai` that read untrusted text. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { Chat, LanguageModel, Tool as AiTool, Toolkit } from "effect/ai"
import type { Approval, Quarantine } from "@recourse/core"
import { Agent, AiToolkit, Recovery, Tool } from "@recourse/core"
import { attack, code, key, world } from "../support/attackedRuns.ts"

describe("tools of effect/ai", () => {
  const Dynamic = AiTool.dynamic("remote", { description: "Somebody else's" })
  const Static = AiTool.make("local", { success: Schema.String, needsApproval: true })
  const kit = Toolkit.make(Dynamic, Static)
  const handlers = kit.toLayer({ remote: () => Effect.succeed(attack), local: () => Effect.succeed("here") })

  it.effect("dynamic ones are untrusted unless said otherwise, and the definition's needsApproval counts", () =>
    Effect.gen(function*() {
      const made = yield* Effect.provide(kit, handlers)
      const trust = (options?: Parameters<typeof AiToolkit.fromToolkit<typeof made.tools>>[1]) =>
        AiToolkit.fromToolkit(made, options).map((tool) => tool.trust)
      assert.deepStrictEqual(trust(), ["untrusted", "trusted"])
      assert.deepStrictEqual(trust({ remote: { trust: "trusted" } }), ["trusted", "trusted"])
      const agent = Agent.make("a", { tools: AiToolkit.fromToolkit(made), defaults: { onError: Recovery.standard } })
      const outcome = yield* Effect.provide(
        agent.start("go") as Effect.Effect<Approval.Outcome<string>, never, LanguageModel.LanguageModel>,
        Layer.merge(key, ScriptedModel.layer([ScriptedModel.call("local", {})]))
      )
      assert.strictEqual(outcome._tag, "Paused")
    }))

  it.effect("ours are asked about, wrapped and guarded there as well", () =>
    Effect.gen(function*() {
      let runs = 0
      const { Fetch } = world()
      const Ask = Tool.make("ask", {
        needsApproval: true,
        execute: () => Effect.sync(() => void runs++)
      }).pipe(Tool.onError((call) => call.pipe(Effect.catchTag("InvalidArgs", () => Effect.void))))
      const made = AiToolkit.toToolkit([Fetch, Ask], { defaults: { onError: Recovery.standard } })
      const generate = (turn: ScriptedModel.Turn) =>
        LanguageModel.generateText({ prompt: "go", toolkit: made }).pipe(Effect.provide(ScriptedModel.layer([turn])))
      const fetched = yield* generate(ScriptedModel.call("fetch", {}))
      assert.strictEqual((fetched.toolResults[0]?.encodedResult as Quarantine.Envelope).source, "fetch")
      const asked = yield* generate(ScriptedModel.call("ask", {}))
      assert.deepStrictEqual([asked.toolResults.length, runs], [0, 0])
      assert.isTrue(asked.content.some((part) => part.type === "tool-approval-request"))
    }))

  it.effect("a conversation with an envelope asks before writes, also with a fixer", () =>
    Effect.gen(function*() {
      const { Fetch, Look, Send, sent } = world()
      const Fixed = Tool.make("fixed", {
        parameters: Schema.Struct({ n: Schema.Int }),
        effects: "write",
        execute: () => Effect.sync(() => void sent.push("fixed"))
      }).pipe(
        Tool.onError(
          Recovery.fix(
            "InvalidArgs",
            Agent.fromFunction("fixer", (_: Recovery.FixRequest) => Effect.succeed("{\"n\":1}"))
          )
        )
      )
      const turns = (name: string, params: unknown) => [
        ScriptedModel.call("fetch", {}, { id: "f" }),
        ScriptedModel.call(name, params, { id: "w" })
      ]
      const play = (onTainted: Quarantine.OnTainted | undefined, name: string, params: unknown) =>
        Effect.gen(function*() {
          const toolkit = AiToolkit.toToolkit([Fetch, Send, Look, Fixed], {
            defaults: { onError: Recovery.standard },
            ...(onTainted === undefined ? undefined : { onTainted })
          })
          const chat = yield* Chat.empty
          yield* chat.generateText({ prompt: "go", toolkit })
          const { content } = yield* chat.generateText({ prompt: [], toolkit })
          const result = content.find((part) => part.type === "tool-result")
          return {
            asked: content.some((part) => part.type === "tool-approval-request"),
            code: code({ result: result?.type === "tool-result" ? result.encodedResult : undefined })
          }
        }).pipe(Effect.provide(ScriptedModel.layer(turns(name, params))))
      assert.deepStrictEqual(yield* play(undefined, "send", { to: "eve" }), { asked: true, code: undefined })
      assert.deepStrictEqual(yield* play("deny", "send", { to: "eve" }), { asked: false, code: "permission_denied" })
      assert.deepStrictEqual(yield* play(undefined, "fixed", { n: "x" }), { asked: false, code: "permission_denied" })
      assert.deepStrictEqual(yield* play("deny", "fixed", { n: "x" }), { asked: false, code: "permission_denied" })
      assert.deepStrictEqual(sent, [])
      assert.deepStrictEqual(yield* play(undefined, "look", {}), { asked: false, code: undefined })
      assert.deepStrictEqual(yield* play({ allow: ["send"] }, "send", { to: "ann" }), { asked: false, code: undefined })
      assert.deepStrictEqual(sent, ["ann"])
    }))
})
