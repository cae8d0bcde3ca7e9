/** Sent schemas: each value that fits a model's JSON Schema is decoded. An independent validator decides the fit. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AiToolkit, Recovery, Tool, ToolCall, ToolSchema } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import Ajv2020 from "ajv/dist/2020.js"
import { Effect, Exit, Schema } from "effect"
import { LanguageModel, Tool as AiTool, Toolkit } from "effect/ai"
import { lastResults, random } from "../support/kit.ts"

/** A schema, and how values are drawn that may fit its JSON form. */
interface Drawn {
  readonly schema: Schema.Top
  readonly json: () => unknown
}

const next = random(35)
const below = (n: number): number => Math.floor(next() * n)
const oneOf = <A>(items: ReadonlyArray<A>): A => items[below(items.length)]!
const times = <A>(n: number, make: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: n }, (_, i) => make(i))

const leaf = (schema: Schema.Top, ...values: ReadonlyArray<unknown>): Drawn => ({ schema, json: () => oneOf(values) })

const leaves: ReadonlyArray<Drawn> = [
  leaf(Schema.String, "", "a", "null"),
  leaf(Schema.Number, 1, 2.5, "NaN", "Infinity"),
  leaf(Schema.Int, 1, -7),
  leaf(Schema.Boolean, true, false),
  leaf(Schema.Literals(["a", "b"]), "a", "b", "c"),
  leaf(Schema.Null, null),
  leaf(Schema.Undefined, null),
  leaf(Schema.BigInt, "12", "-3", "x"),
  leaf(Schema.Literal(3n), "3", "4"),
  leaf(Schema.Option(Schema.Int), { _tag: "None" }, { _tag: "Some", value: 1 }),
  leaf(Schema.Unknown, null, { a: null })
]

const fieldKinds = [
  Schema.optional,
  Schema.optionalKey,
  (schema: Schema.Top) => Schema.optional(Schema.NullOr(schema)),
  (schema: Schema.Top) => schema
]

const struct = (depth: number): Drawn => {
  const fields = times(below(4), () => draw(depth))
  return {
    schema: Schema.Struct(Object.fromEntries(fields.map(({ schema }, i) => [`f${i}`, oneOf(fieldKinds)(schema)]))),
    json: () => Object.fromEntries(fields.flatMap(({ json }, i) => next() < 0.8 ? [[`f${i}`, json()]] : []))
  }
}

const array = (depth: number): Drawn => {
  const { json, schema } = draw(depth)
  return { schema: Schema.Array(schema), json: () => times(below(3), json) }
}

const record = (depth: number): Drawn => {
  const { json, schema } = draw(depth)
  return {
    schema: Schema.Record(Schema.String, schema),
    json: () => Object.fromEntries(times(below(3), (i) => [`k${i}`, json()]))
  }
}

const union = (depth: number): Drawn => {
  const members = times(2 + below(2), () => draw(depth))
  return { schema: Schema.Union(members.map(({ schema }) => schema)), json: () => oneOf(members).json() }
}

const tuple = (depth: number): Drawn => {
  const [one, other] = [draw(depth), draw(depth)]
  return {
    schema: Schema.Tuple([one.schema, Schema.optional(other.schema)]),
    json: () => next() < 0.5 ? [one.json()] : [one.json(), other.json()]
  }
}

const draw = (depth: number): Drawn =>
  depth === 0 || next() < 0.25 ? oneOf(leaves) : oneOf([struct, struct, array, record, union, tuple])(depth - 1)

/** A value of which parts are null. */
const withNulls = (value: unknown): unknown => {
  if (next() < 0.3) return null
  if (Array.isArray(value)) return value.map(withNulls)
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withNulls(item)]))
    : value
}

const ajv = new Ajv2020.default({ strict: false, addUsedSchema: false })

const isRead = (tool: Tool.Any, args: unknown): boolean =>
  Exit.isSuccess(
    Effect.runSyncExit(
      (tool.call as Effect.Effect<unknown, unknown, ToolCall.ToolCall>).pipe(
        Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c", arguments: args as {} }))
      )
    )
  )

describe("a sent schema", () => {
  it("accepts no value that is not read", () => {
    let accepted = 0
    let nulls = 0
    for (let round = 0; round < 150; round++) {
      const { json, schema } = draw(3)
      const tools = (["read", "write"] as const).map((effects) =>
        Tool.make("t", { parameters: Schema.Struct({ value: schema }), effects, execute: () => Effect.void })
      )
      const values = [{}, ...times(8, () => json()).flatMap((value) => [{ value }, { value: withNulls(value) }])]
      const fits = ajv.compile(ToolSchema.parametersOf(tools[0]!.definition))
      for (const value of values.filter((value) => fits(value))) {
        for (const tool of tools) {
          accepted++
          if (JSON.stringify(value).includes("null")) nulls++
          assert.isTrue(
            isRead(tool, value),
            `${JSON.stringify(value)} for ${JSON.stringify(tool.info.description.jsonSchema())}`
          )
        }
      }
    }
    assert.isAbove(accepted, 400)
    assert.isAbove(nulls, 100)
  }, 60_000)

  it("has no texts for numbers, and closed objects", () => {
    const definition = AiTool.make("t", {
      parameters: Schema.Struct({ a: Schema.optional(Schema.NullOr(Schema.Number)), b: Schema.Number })
    })
    assert.deepStrictEqual(ToolSchema.parametersOf(definition) as unknown, {
      type: "object",
      properties: { a: { anyOf: [{ type: "number" }, { type: "null" }] }, b: { type: "number" } },
      required: ["b"],
      additionalProperties: false
    })
  })
})

class Address extends Schema.Class<Address>("Address")({ city: Schema.String }) {}

interface Tree {
  readonly children: ReadonlyArray<Tree>
}
const Tree = Schema.Struct({ children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree)) })

describe("a sent schema of parameters", () => {
  /** Parameters, with arguments that fit them. */
  const forms: Readonly<Record<string, readonly [parameters: Schema.Top, args: object]>> = {
    "a struct": [Schema.Struct({ a: Schema.String }), { a: "a" }],
    "a struct without fields": [Schema.Struct({}), {}],
    "a record": [Schema.Record(Schema.String, Schema.Int), { a: 1 }],
    "a class": [Address, { city: "Ulm" }],
    "a struct that contains itself": [Tree, { children: [{ children: [] }] }],
    "a union": [
      Schema.Union([
        Schema.Struct({ kind: Schema.Literal("a"), n: Schema.Int }),
        Schema.Struct({ kind: Schema.Literal("b"), city: Schema.String })
      ]),
      { kind: "b", city: "Ulm" }
    ],
    "a union of classes": [Schema.Union([Address, Tree]), { city: "Ulm" }],
    "any value": [Schema.Unknown, { a: 1 }]
  }
  const composed = new Set(["$ref", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const"])

  for (const [form, [parameters, args]] of Object.entries(forms)) {
    it(`of ${form} has an object at its root, and accepts arguments`, () => {
      const tool = Tool.make("t", {
        parameters: parameters as Schema.Struct<{}>,
        effects: "read",
        execute: () => Effect.void
      })
      const sent = ToolSchema.parametersOf(tool.definition)
      assert.strictEqual(sent.type, "object")
      assert.isObject(sent.properties)
      assert.deepStrictEqual(Object.keys(sent).filter((keyword) => composed.has(keyword)), [])
      assert.isTrue(ajv.compile(sent)(args))
      assert.isTrue(isRead(tool, args))
    })
  }

  it("takes no other fields for a class and for an empty struct", () => {
    for (const parameters of [Address, Schema.Struct({}), Schema.Struct({ a: Schema.String })]) {
      const sent = ToolSchema.parametersOf(AiTool.make("t", { parameters }))
      assert.strictEqual(sent["additionalProperties"], false)
    }
  })
})

const Deep = Schema.Struct({ n: Schema.optional(Schema.Int) })
const parameters = Schema.Struct({
  limit: Schema.optional(Schema.Int),
  inner: Deep,
  list: Schema.Array(Deep),
  either: Schema.Union([Deep, Schema.String])
})
const given = { limit: null, inner: { n: null }, list: [{ n: null }], either: { n: null } }
const absent = { limit: undefined, inner: { n: undefined }, list: [{ n: undefined }], either: { n: undefined } }

describe("null for an absent field", () => {
  it.effect("is read by an agent's tool, and other mistakes are named", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const Find = Tool.make("find", {
        parameters,
        effects: "write",
        execute: (p) => Effect.sync(() => void seen.push(p))
      })
      const model = ScriptedModel.layer(({ prompt }, index) => {
        if (index === 2) {
          assert.include(
            (lastResults(prompt)[0]!.result as { message_for_model: string }).message_for_model,
            "The arguments do not fit: list.0.n: expected number | null"
          )
        }
        return index === 2
          ? ScriptedModel.text("done")
          : ScriptedModel.call("find", index === 0 ? given : { ...given, list: [{ n: "x" }] })
      })
      yield* Agent.make("a", { tools: [Find], defaults: { onError: Recovery.standard } }).run("x").pipe(
        Effect.provide(model)
      )
      assert.deepStrictEqual(seen, [absent])
    }))

  it.effect("is read in structured output", () =>
    Effect.gen(function*() {
      const output = yield* Agent.make("a", { output: parameters }).run("x").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text(JSON.stringify(given))]))
      )
      assert.deepStrictEqual(output, absent)
    }))

  it.effect("is decoded by a toolkit of recovered tools, and by handlers", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const Find = Tool.make("find", {
        parameters,
        effects: "read",
        execute: (p) => Effect.sync(() => void seen.push(p))
      })
      yield* LanguageModel.generateText({
        prompt: "x",
        toolkit: AiToolkit.toToolkit([Find], { defaults: { onError: Recovery.standard } })
      }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("find", given)])))
      const Kit = Toolkit.make(AiTool.make("find", { parameters }))
      const tools = yield* Kit.pipe(
        Effect.map((handlers) => AiToolkit.fromToolkit(handlers)),
        Effect.provide(Kit.toLayer({ find: (p) => Effect.sync(() => void seen.push(p)) }))
      )
      yield* Agent.make("a", { tools, defaults: { onError: Recovery.standard } } as never).run("x" as never).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("find", given), ScriptedModel.text("done")]))
      ) as Effect.Effect<unknown>
      assert.deepStrictEqual(seen, [absent, absent])
    }))
})
