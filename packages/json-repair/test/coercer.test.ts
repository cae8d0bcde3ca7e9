/**
 * Values in another type than a tool's schema: coerced ones, declined ones, and the view of the record and the
 * policies.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Agent, Policy, Recovery, Tool } from "@recourse/core"
import { Effect, Schema } from "effect"
import { JsonRepair } from "@recourse/json-repair"

const Line = Schema.Struct({ sku: Schema.String, count: Schema.Int })
const parameters = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  price: Schema.optionalKey(Schema.Number),
  gift: Schema.optionalKey(Schema.Boolean),
  either: Schema.optionalKey(Schema.Union([Schema.Number, Schema.String])),
  both: Schema.optionalKey(Schema.Union([Schema.Number, Schema.Boolean])),
  lines: Schema.optionalKey(Schema.Array(Line)),
  first: Schema.optional(Line),
  ids: Schema.optional(Schema.Array(Schema.Number)),
  note: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Schema.String)]))
})

const ran = (args: unknown, effects: "read" | "write" = "read", tools?: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const seen: Array<unknown> = []
    const asked: Array<unknown> = []
    const Order = Tool.make("order", {
      parameters,
      effects,
      execute: (params) => Effect.sync(() => void seen.push(params))
    }).pipe(
      Tool.onError((call) =>
        call.pipe(Recovery.fix("InvalidArgs", JsonRepair.coercer({ tools })), Recovery.escalate("InvalidArgs"))
      )
    )
    const policy = Policy.make("seen", (call) => {
      asked.push(call.arguments)
      return Policy.allow
    })
    const { executed } = yield* Agent.make("desk", {
      tools: [Order],
      policies: [policy],
      defaults: { onError: Recovery.keepGoing }
    }).report("x").pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.call("order", args as {}), ScriptedModel.text("done")]))
    )
    return { seen: seen[0], asked, fixedBy: executed.map(({ fixedBy }) => fixedBy) }
  })

describe("a coercer", () => {
  for (
    const [given, used] of [
      [{ id: 42 }, { id: "42" }],
      [{ id: true }, { id: "true" }],
      [{ price: " 4.5 " }, { price: 4.5 }],
      [{ gift: "false" }, { gift: false }],
      [{ both: "true" }, { both: true }],
      [{ both: "7" }, { both: 7 }],
      [{ lines: [{ sku: 1, count: "2" }, { sku: "b", count: 3 }] }, {
        lines: [{ sku: "1", count: 2 }, { sku: "b", count: 3 }]
      }],
      [{ ids: "[1,2]" }, { ids: [1, 2] }],
      [{ ids: " [] " }, { ids: [] }],
      [{ first: `{"sku":"a","count":1}` }, { first: { sku: "a", count: 1 } }],
      [{ lines: [`{"sku":"a","count":1}`] }, { lines: [{ sku: "a", count: 1 }] }]
    ] as const
  ) {
    it.effect(`uses ${JSON.stringify(used)} for ${JSON.stringify(given)}, which policies see and the record says`, () =>
      Effect.gen(function*() {
        const { asked, fixedBy, seen } = yield* ran(given)
        assert.deepStrictEqual(seen, used)
        assert.deepStrictEqual(asked, [used])
        assert.deepStrictEqual(fixedBy, ["json-coercion"])
      }))
  }

  for (
    const given of [
      { id: null },
      { id: 2 ** 60 },
      { id: ["a"] },
      { price: "4,5" },
      { price: "0x10" },
      { price: "" },
      { price: "9007199254740993" },
      { gift: "yes" },
      { gift: 1 },
      { either: true },
      { lines: [{ sku: "a", count: "2.5" }] },
      { ids: "{}" },
      { ids: "[1,2" },
      { ids: "[9007199254740993]" },
      { ids: "[0.12345678901234567891]" },
      { first: "[]" },
      { first: "" },
      { first: "\"\"" },
      { first: "null" },
      { ids: "\"\"" },
      { first: `{"sku":"a","sku":"b","count":1}` },
      { first: `{"__proto__":{},"sku":"a","count":1}` },
      { id: ["[1]"], note: 1 },
      { id: 42, price: "cheap" }
    ]
  ) {
    it.effect(`declines ${JSON.stringify(given)}`, () =>
      Effect.map(ran(given), ({ asked, seen }) => {
        assert.isUndefined(seen)
        assert.deepStrictEqual(asked, [])
      }))
  }

  it.effect("changes no writes, unless they are named", () =>
    Effect.gen(function*() {
      assert.isUndefined((yield* ran({ id: 42 }, "write")).seen)
      assert.deepStrictEqual((yield* ran({ id: 42 }, "write", ["order"])).seen, { id: "42" })
    }))
})
