/** Agents as tools: what a model is offered of them, and what they are given. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, ConfigurationError, Recovery } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Tool as AiTool } from "effect/ai"

const description = "Asks"

const schemaOf = (tool: { readonly definition: AiTool.Any }): unknown => AiTool.getJsonSchema(tool.definition)

describe("an agent that is a tool", () => {
  it.effect("takes a text by the name `input`", () =>
    Effect.gen(function*() {
      const poet = Agent.make("poet", { instructions: "Answer in verse." })
      const tool = poet.pipe(Agent.asTool("ask", { description }))
      assert.deepStrictEqual(schemaOf(tool), {
        type: "object",
        properties: { input: { type: "string" } },
        required: ["input"],
        additionalProperties: true
      } as unknown)
      const desk = Agent.make("desk", { tools: [tool], defaults: { onError: Recovery.standard } })
      const [answer, seen] = yield* desk.run("go").pipe(
        Effect.zip(Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)),
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.call("ask", {}),
          ScriptedModel.call("ask", { input: "The sea" }),
          ScriptedModel.text("Blue it is"),
          ScriptedModel.text("done")
        ]))
      )
      assert.strictEqual(answer, "done")
      const last = seen.map(({ prompt }) => JSON.stringify(prompt.content.at(-1)))
      assert.include(last[1], "input: required")
      assert.include(last[2], "The sea")
      assert.include(last[3], "Blue it is")
    }))

  it("takes an object as it is, also where it is provided or interactive", () => {
    const order = Schema.Struct({ id: Schema.FiniteFromString, notes: Schema.Array(Schema.String) })
    const clerk = Agent.make("clerk", { input: order, output: Schema.Int })
    const ways = [
      clerk,
      clerk.pipe(Agent.provide(ScriptedModel.layer([]))),
      clerk.pipe(Approval.interactive((call) => Effect.succeed(Approval.approve(call))))
    ] as const
    for (const way of ways) {
      assert.strictEqual(way.input, order)
      assert.strictEqual(way.output, Schema.Int)
    }
    const tool = clerk.pipe(Agent.asTool("ask", { description }))
    assert.strictEqual(tool.parameters as unknown, order)
    assert.strictEqual(tool.success, Schema.Int)
  })

  it.effect("takes what is no object by the name `input`, with its own checks", () =>
    Effect.gen(function*() {
      const Amount = Schema.FiniteFromString.check(Schema.isGreaterThan(0))
      const heard: Array<number> = []
      const pay = Agent.make("pay", {
        input: Amount,
        prompt: (amount) => {
          heard.push(amount)
          return "pay"
        }
      })
      const desk = Agent.make("desk", {
        tools: [pay.pipe(Agent.asTool("pay", { description }))],
        defaults: { onError: Recovery.standard }
      })
      yield* desk.run("go").pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.call("pay", { input: "-1" }),
        ScriptedModel.call("pay", { input: "5" }),
        ScriptedModel.text("paid"),
        ScriptedModel.text("done")
      ])))
      assert.deepStrictEqual(heard, [5])
    }))

  it("needs both schemas where its agent says none", () => {
    const plain = Agent.fromFunction("plain", (text: string) => Effect.succeed(text))
    const untyped = Agent.asTool as (
      name: string,
      options: object
    ) => (agent: Agent.Agent<string, string>) => unknown
    assert.throws(() => untyped("ask", { description })(plain), ConfigurationError.ConfigurationError, "parameters")
    assert.throws(() => untyped("ask", { description, parameters: Schema.String })(plain), "success")
  })
})
