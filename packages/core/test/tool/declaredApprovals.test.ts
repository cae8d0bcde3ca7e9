/** Approvals that a tool declares. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Agent, AiToolkit, Approval, Tool } from "@recourse/core"
import { Effect, Redacted, Schema } from "effect"
import { LanguageModel, Tool as AiTool } from "effect/ai"
import { by } from "../support/kit.ts"

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

const nothing = () => Effect.void

describe("an approval", () => {
  const outcome = (tool: Tool.Any, ...before: ReadonlyArray<ScriptedModel.Turn>) =>
    Effect.map(
      Agent.make("a", { tools: [tool] } as never).start("go" as never) as Effect.Effect<
        { readonly _tag: string },
        unknown,
        LanguageModel.LanguageModel
      >,
      ({ _tag }) => _tag
    ).pipe(
      Effect.provide([
        ScriptedModel.layer([...before, ScriptedModel.call("t", { n: 1 }), ScriptedModel.text("done")]),
        key
      ])
    )

  it.effect("is declared by the tool, its arguments and call, also effectfully", () =>
    Effect.gen(function*() {
      const ids: Array<string> = []
      const says: ReadonlyArray<readonly [unknown, boolean]> = [
        [undefined, false],
        [false, false],
        [true, true],
        [() => true, true],
        [() => false, false],
        [() => Effect.succeed(true), true],
        [() => Effect.succeed(false), false],
        [({ n }: { readonly n: number }) => n > 0, true],
        [({ n }: { readonly n: number }) => n > 1, false],
        [(_: unknown, { toolCallId }: { readonly toolCallId: string }) => ids.push(toolCallId) > 0, true]
      ]
      for (const [needsApproval, isAsked] of says) {
        const tool = Tool.make("t", {
          parameters: Schema.Struct({ n: Schema.Int }),
          needsApproval,
          effects: "read",
          execute: () => Effect.void
        } as never) as Tool.Any
        assert.strictEqual(yield* outcome(tool), isAsked ? "Paused" : "Completed", String(needsApproval))
      }
      assert.lengthOf(ids, 1)
      assert.isAbove(ids[0]!.length, 0)
    }))

  it.effect("of effect/ai uses the earlier conversation; the options come first", () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<string>> = []
      const definition = AiTool.make("t", {
        parameters: Schema.Struct({ n: Schema.Int }),
        needsApproval: (_, { messages }) => {
          seen.push(messages.map(({ role }) => role))
          return Effect.succeed(true)
        }
      })
      const Other = Tool.make("other", { effects: "read", execute: nothing })
      const asks = AiToolkit.fromTool(definition, nothing, { effects: "read" })
      const agent = Agent.make("a", { tools: [asks, Other] })
      const script = ScriptedModel.layer([
        ScriptedModel.call("other", {}),
        ScriptedModel.calls([{ name: "other", params: {} }, { name: "t", params: { n: 1 } }]),
        ScriptedModel.text("done")
      ])
      const paused = yield* Effect.provide(agent.start("go"), [script, key])
      assert.strictEqual(paused._tag, "Paused")
      assert.deepStrictEqual(seen, [["user", "assistant", "tool"]])
      yield* Effect.exit(asks.call.pipe(by({ n: 1 })))
      assert.deepStrictEqual(seen.at(-1), [])
      const alone = Agent.make("a", { tools: [asks], prompt: () => [] })
      yield* Effect.provide(alone.start("go"), [ScriptedModel.layer([ScriptedModel.call("t", { n: 1 })]), key])
      assert.deepStrictEqual(seen.at(-1), [], "the answer is the first message")
      const outer = Tool.make("outer", {
        effects: "read",
        mayRequestApproval: true,
        execute: () => Effect.asVoid(Effect.exit(asks.call.pipe(by({ n: 1 }))))
      })
      const around = Agent.make("a", { instructions: "Be kind", tools: [outer, asks] })
      yield* Effect.exit(
        Effect.provide(around.start("go"), [ScriptedModel.layer([ScriptedModel.call("outer", {})]), key])
      )
      assert.deepStrictEqual(seen.at(-1), ["system", "user", "assistant"], "a tool's call has no answer of its own")
      const quiet = AiToolkit.fromTool(definition, nothing, {
        effects: "read",
        needsApproval: () => Effect.succeed(false)
      })
      assert.strictEqual(yield* outcome(quiet), "Completed")
      const always = AiToolkit.fromTool(
        AiTool.make("t", { parameters: definition.parametersSchema, needsApproval: true }),
        nothing
      )
      assert.strictEqual(yield* outcome(always), "Paused")
    }))

  it.effect("in a toolkit: the definition asks, options first, reads never ask", () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<string>> = []
      const definition = AiTool.make("t", {
        parameters: Schema.Struct({ n: Schema.Int }),
        needsApproval: (_, { messages }) => {
          seen.push(messages.map(({ role }) => role))
          return true
        }
      })
      let runs = 0
      const execute = () => Effect.sync(() => void runs++)
      const asked = Effect.fnUntraced(function*(tool: Tool.Any) {
        const toolkit = AiToolkit.toToolkit([tool] as never)
        const { content } = yield* (LanguageModel.generateText({ prompt: "go", toolkit } as never) as Effect.Effect<
          { readonly content: ReadonlyArray<{ readonly type: string }> },
          unknown,
          LanguageModel.LanguageModel
        >).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("t", { n: 1 })])))
        return content.some(({ type }) => type === "tool-approval-request")
      })
      assert.isTrue(yield* asked(AiToolkit.fromTool(definition, execute)))
      assert.deepStrictEqual(seen, [["user"]])
      assert.strictEqual(runs, 0)
      for (const [answer, isAsked] of [[false, false], [true, true]] as const) {
        const tool = AiToolkit.fromTool(definition, execute, { needsApproval: () => Effect.succeed(answer) })
        assert.strictEqual(yield* asked(tool), isAsked)
      }
      assert.strictEqual(runs, 1)
      assert.lengthOf(seen, 1)
      const Read = Tool.make("t", { effects: "read", execute: nothing })
      assert.isUndefined(AiToolkit.toToolkit([Read]).tools.t.needsApproval)
      assert.isUndefined(Tool.make("t", { effects: "write", execute: nothing }).definition.needsApproval)
    }))
})
