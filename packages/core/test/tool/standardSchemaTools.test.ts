/** Tools whose parameters are schemas of zod, valibot and arktype. */
import { assert, describe, it } from "@effect/vitest"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { type } from "arktype"
import { Effect, Layer, Redacted, Schema, type StandardSchema } from "effect"
import { LanguageModel, Tool as AiTool } from "effect/ai"
import * as v from "valibot"
import { z } from "zod"
import { Agent, Approval, IdempotencyLedger, Policy, Recovery, Tool, type ToolError } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { by, collect, lastResults } from "../support/kit.ts"

type Order = { readonly amount: string; readonly city: string }
type Parsed = { readonly amount: number; readonly city: string }

/** Schemas of one kind of order: the amount is a text that becomes a number, and the city has four letters and more. */
const orders: Readonly<Record<string, StandardSchema.StandardSchemaV1<Order, Parsed>>> = {
  zod: z.strictObject({
    amount: z.string().transform(Number),
    city: z.string().min(4, "use the full name of the city")
  }),
  valibot: toStandardJsonSchema(v.strictObject({
    amount: v.pipe(v.string(), v.transform(Number)),
    city: v.pipe(v.string(), v.minLength(4, "use the full name of the city"))
  })),
  arktype: type({
    "+": "reject",
    amount: "string.numeric.parse",
    city: type("string >= 4").configure({ message: "use the full name of the city" })
  })
}

const orderTool = (schema: StandardSchema.StandardSchemaV1<Order, Parsed>, seen: Array<Parsed>, name = "order") =>
  Tool.fromStandardSchema(name, {
    parameters: schema as typeof schema & StandardSchema.StandardJSONSchemaV1<Order, Parsed>,
    success: Schema.Number,
    execute: (params) => {
      seen.push(params)
      return Effect.succeed(params.amount)
    }
  })

/** The error of a call by hand. */
const failure = <A, R>(call: Effect.Effect<A, ToolError.InvalidArgs | ToolError.InvalidResult, R>, args: unknown) =>
  Effect.map(Effect.flip(by(args)(call)), (error) => {
    assert.strictEqual(error._tag, "InvalidArgs")
    return error._tag === "InvalidArgs" ? error.issues : []
  })

describe("Tool.fromStandardSchema", () => {
  for (const [library, schema] of Object.entries(orders)) {
    it.effect(`passes the output of ${library} to the executor`, () =>
      Effect.gen(function*() {
        const seen: Array<Parsed> = []
        const { call } = orderTool(schema, seen)
        assert.strictEqual(yield* by({ amount: "21", city: "Bern" })(call), 21)
        assert.strictEqual(yield* by("{\"amount\":\"22\",\"city\":\"Bern\"}")(call), 22)
        assert.deepStrictEqual(seen, [{ amount: 21, city: "Bern" }, { amount: 22, city: "Bern" }])
      }))

    it.effect(`reports paths and messages of ${library}`, () =>
      Effect.gen(function*() {
        const seen: Array<Parsed> = []
        const { call } = orderTool(schema, seen)
        assert.deepStrictEqual(yield* failure(call, { amount: "21", city: "Ulm" }), [
          { path: ["city"], expected: "use the full name of the city", problem: "invalid" }
        ])
        const [missing] = yield* failure(call, { city: "Bern" })
        assert.deepInclude(missing, { path: ["amount"], problem: "missing" })
        assert.lengthOf(yield* failure(call, { amount: "21", city: "Bern", dry_run: true }), 1)
        assert.deepStrictEqual(seen, [])
      }))

    it.effect(`omits the value that a message of ${library} quotes`, () =>
      Effect.gen(function*() {
        const { call } = orderTool(schema, [])
        const issues = yield* failure(call, { amount: 4711, city: "Bern" })
        assert.deepStrictEqual(issues.map(({ path }) => path), [["amount"]])
        assert.include(issues[0]!.expected.toLowerCase(), "string")
        assert.notInclude(JSON.stringify(issues), "4711")
      }))

    it(`sends the JSON Schema of the input of ${library}`, () => {
      const sent = AiTool.getJsonSchema(orderTool(schema, []).definition)
      assert.deepInclude(sent, { type: "object", additionalProperties: false })
      const { properties, required } = sent as { readonly properties: object; readonly required: Array<string> }
      assert.deepStrictEqual([...required].sort(), ["amount", "city"])
      assert.deepInclude((properties as { readonly amount: object }).amount, { type: "string" })
      assert.deepInclude((properties as { readonly city: object }).city, { type: "string", minLength: 4 })
    })

    it.effect(`a model corrects arguments by the messages of ${library}`, () =>
      Effect.gen(function*() {
        const seen: Array<Parsed> = []
        const agent = Agent.make("a", { tools: [orderTool(schema, seen)], defaults: { onError: Recovery.standard } })
        const { model, script } = yield* ScriptedModel.make([
          ScriptedModel.call("order", { amount: "21", city: "Ulm" }),
          ScriptedModel.call("order", { amount: "21", city: "Ulm an der Donau" }),
          ScriptedModel.text("done")
        ])
        yield* agent.run("go").pipe(Effect.provideService(LanguageModel.LanguageModel, model))
        const requests = yield* script.requests
        assert.include(JSON.stringify(requests[1]), "city: use the full name of the city")
        assert.deepStrictEqual(lastResults(requests[2]!.prompt).map(({ result }) => result), [21])
        assert.deepStrictEqual(seen, [{ amount: 21, city: "Ulm an der Donau" }])
      }))

    it.effect(`validates edited arguments of a paused call again: ${library}`, () =>
      Effect.gen(function*() {
        const seen: Array<Parsed> = []
        const agent = Agent.make("a", {
          tools: [orderTool(schema, seen)],
          policies: [
            Policy.make("ask", () => Policy.requireApproval(), { mayRequestApproval: true })
          ],
          defaults: { onError: Recovery.standard }
        })
        const edited = (args: Record<string, string>) =>
          Effect.gen(function*() {
            const { events, layer } = collect()
            const paused = yield* Effect.flip(agent.run("go")).pipe(Effect.provide(layer))
            if (paused._tag !== "ApprovalRequired") return assert.fail(paused._tag)
            assert.deepStrictEqual(paused.pending[0]!.arguments, { amount: "21", city: "Bern" })
            yield* agent.resume(paused.snapshot, [Approval.edit(paused.pending[0]!, args)]).pipe(Effect.provide(layer))
            return events
          }).pipe(Effect.provide([
            ScriptedModel.layer([
              ScriptedModel.call("order", { amount: "21", city: "Bern" }),
              ScriptedModel.text("done")
            ]),
            Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))
          ]))
        yield* edited({ amount: "5", city: "Basel" })
        assert.deepStrictEqual(seen, [{ amount: 5, city: "Basel" }])
        yield* edited({ amount: "5", city: "Ulm" })
        assert.deepStrictEqual(seen, [{ amount: 5, city: "Basel" }])
      }))
  }

  it.effect("validates the arguments of a fixer again", () =>
    Effect.gen(function*() {
      const seen: Array<Parsed> = []
      const answers = [{ amount: "1", city: "Ulm" }, { amount: "1", city: "Ulm an der Donau" }]
      const fixer = Agent.fromFunction("fixer", () => Effect.sync(() => JSON.stringify(answers.shift())))
      const fixed = orderTool(orders["zod"]!, seen).pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer, { times: 2 })))
      assert.strictEqual(yield* by({ amount: "1", city: "U" })(fixed.call), 1)
      assert.deepStrictEqual(seen, [{ amount: 1, city: "Ulm an der Donau" }])
    }))

  it.effect("hashes the input for a key of the ledger", () =>
    Effect.gen(function*() {
      let runs = 0
      const pay = Tool.fromStandardSchema("pay", {
        parameters: z.object({ amount: z.string().transform((text) => ({ amount: text, at: runs })) }),
        success: Schema.String,
        effects: "write",
        idempotency: true,
        execute: ({ amount }) => Effect.sync(() => `${amount.amount} ${++runs}`)
      })
      assert.strictEqual(yield* by({ amount: "5" })(pay.call), "5 1")
      assert.strictEqual(yield* by({ amount: "5" })(pay.call), "5 1")
      const other = yield* Effect.flip(by({ amount: "6" })(pay.call))
      assert.strictEqual(other._tag, "IdempotencyConflict")
      assert.strictEqual(runs, 1)
    }).pipe(Effect.provide(Layer.fresh(IdempotencyLedger.layerMemory))))

  it.effect("a fallback receives the output of the schema", () =>
    Effect.gen(function*() {
      const { call } = Tool.fromStandardSchema("down", {
        parameters: z.object({ n: z.string().transform(Number) }),
        success: Schema.Number,
        execute: () => Effect.fail("down")
      }).pipe(Tool.onError(Recovery.fallback("ExecutionError", (_, params) => Effect.map(params, ({ n }) => n + 1))))
      assert.strictEqual(yield* by({ n: "20" })(call), 21)
    }))
})
