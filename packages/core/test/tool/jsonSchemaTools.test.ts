import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { LanguageModel, Tool as AiTool, Toolkit } from "effect/ai"
import { Agent, AiToolkit, ConfigurationError, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { lastResults } from "../support/kit.ts"

const accepts = (document: Record<string, unknown>, options: Tool.JsonSchemaOptions, value: unknown, refuse = true) =>
  Exit.isSuccess(
    Schema.decodeUnknownExit(Tool.schemaFromJsonSchema("S", document, options).schema)(
      value,
      { onExcessProperty: refuse ? "error" : "ignore" }
    )
  )

const call = (tool: Tool.Any, args: unknown) =>
  (tool.call as Effect.Effect<unknown, unknown, ToolCall.ToolCall>).pipe(
    Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: args })),
    Effect.exit,
    Effect.map((exit) => Exit.isSuccess(exit) ? exit.value : exit.cause.reasons.map((reason) => String(reason)).join())
  )

const tuples = (more: Record<string, unknown>) =>
  object({ b: { type: "array", items: [{ $ref: "#/definitions/P" }] } }, more)

const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  type: "object",
  properties,
  ...more
})

describe("the checked part of a JSON Schema", () => {
  const table: ReadonlyArray<
    readonly [name: string, Record<string, unknown>, Tool.JsonSchemaOptions, right: unknown, wrong: unknown]
  > = [
    ["types", object({ a: { type: "integer" } }), {}, { a: 1 }, { a: "1" }],
    ["required", object({}, { required: ["a"] }), {}, { a: 1 }, {}],
    ["closed objects", object({ a: {} }, { additionalProperties: false }), {}, { a: 1 }, { a: 1, b: 1 }],
    ["patterns of trusted documents", object({ a: { type: "string", pattern: "^a+$" } }), { patterns: "apply" }, {
      a: "a"
    }, { a: "b" }],
    ["references to the root", object({ n: { type: "integer" }, next: { $ref: "#" } }, { required: ["n"] }), {}, {
      n: 1,
      next: { n: 2 }
    }, { n: 1, next: {} }],
    ["references into the root", object({ a: { type: "integer" }, b: { $ref: "#/properties/a" } }), {}, { b: 1 }, {
      b: "1"
    }],
    [
      "definitions of draft 7",
      object({ b: { $ref: "#/definitions/P" } }, { definitions: { P: { type: "integer" } } }),
      {},
      { b: 1 },
      { b: "1" }
    ],
    [
      "tuples of draft 7",
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        ...object({ b: { type: "array", items: [{ type: "integer" }] } })
      },
      {},
      { b: [1] },
      { b: ["1"] }
    ],
    ["definitions of 2020-12", object({ b: { $ref: "#/$defs/P" } }, { $defs: { P: { type: "integer" } } }), {}, {
      b: 1
    }, { b: "1" }],
    ["several types", object({ a: { type: ["integer", "null"] } }), {}, { a: null }, { a: "1" }],
    [
      "tuples of a draft that is named",
      object({ b: { type: "array", items: [{ type: "integer" }] } }),
      {
        draft: "draft-07"
      },
      { b: [1] },
      { b: ["1"] }
    ],
    ["tuples of draft 7, which its definitions show", tuples({ definitions: { P: { type: "integer" } } }), {}, {
      b: [1]
    }, { b: ["1"] }],
    ["the same beside an odd $schema", tuples({ $schema: 5, definitions: { P: { type: "integer" } } }), {}, {
      b: [1]
    }, { b: ["1"] }],
    [
      "tuples of 2020-12, also beside old definitions",
      object({ b: { type: "array", prefixItems: [{ type: "integer" }] } }, { definitions: {}, $defs: {} }),
      {},
      { b: [1] },
      { b: ["1"] }
    ],
    [
      "properties that are called as keywords are",
      object({ not: { type: "integer" }, items: { type: "string" } }),
      {},
      {
        not: 1,
        items: "a"
      },
      { not: "1", items: "a" }
    ],
    [
      "no examples and defaults, which are no schemas",
      object({ a: { type: "object", default: { x: { type: "strnig" } }, examples: [{ type: "strnig" }] } }),
      {},
      { a: {} },
      { a: 1 }
    ],
    ["names that every object has", object({ constructor: { type: "string" } }), {}, { constructor: "a" }, {
      constructor: 1
    }],
    [
      "what stands beside something unchecked",
      object({ a: { type: "number", not: { const: 1 } } }),
      { unchecked: ["not"] },
      { a: 2 },
      { a: "2" }
    ]
  ]
  for (const [name, document, options, right, wrong] of table) {
    it(`${name}`, () => {
      assert.isTrue(accepts(document, options, right))
      assert.isFalse(accepts(document, options, wrong))
    })
  }

  const refused: ReadonlyArray<readonly [place: string, keyword: string, Record<string, unknown>]> = [
    ["/properties/a/not", "not", object({ a: { not: { type: "string" } } })],
    [
      "/properties/a/if",
      "if",
      JSON.parse(`{"type":"object","properties":{"a":{"if":{"type":"string"},"then":{"minLength":3}}}}`)
    ],
    ["/properties/a/contains", "contains", object({ a: { type: "array", contains: { type: "string" } } })],
    ["/dependentRequired", "dependentRequired", object({ a: {} }, { dependentRequired: { a: ["b"] } })],
    ["/properties/a/const", "const", object({ a: { const: { b: 1 } } })],
    ["/properties/a/$ref", "$ref", object({ a: { $ref: "https://example.com/a.json" } })],
    ["/properties/a/type", "type", object({ a: { type: "strnig" } })],
    ["/properties/a/type", "type", object({ a: { type: [] } })],
    ["/properties/a/type", "type", object({ a: { type: ["string", "odd"] } })],
    ["/properties/a/items", "items", object({ a: { type: "array", items: 5 } })],
    ["/additionalProperties", "additionalProperties", object({}, { additionalProperties: "no" })],
    ["/required", "required", object({}, { required: "a" })],
    ["/required", "required", object({}, { required: ["a", 1] })],
    ["/properties/a/pattern", "pattern", object({ a: { pattern: 5 } })],
    ["/properties/a/$ref", "$ref", object({ a: { $ref: 5 } })],
    ["/properties/a/allOf", "allOf", object({ a: { allOf: {} } })],
    ["/properties/a/minLength", "minLength", object({ a: { minLength: "1" } })],
    ["/properties/a/maxItems", "maxItems", object({ a: { maxItems: "1" } })],
    ["/properties/a/properties", "properties", object({ a: { properties: [] } })],
    ["/properties/a/patternProperties", "patternProperties", object({ a: { patternProperties: 5 } })],
    ["/properties/a/enum", "enum", object({ a: { enum: {} } })],
    ["/properties/a/anyOf", "anyOf", object({ a: { anyOf: {} } })],
    ["/properties/a/oneOf", "oneOf", object({ a: { oneOf: {} } })],
    ["/properties/a/prefixItems", "prefixItems", object({ a: { prefixItems: {} } })],
    ["/properties/a/propertyNames", "propertyNames", object({ a: { propertyNames: 5 } })],
    ["/properties/a/additionalProperties", "additionalProperties", object({ a: { additionalProperties: 5 } })],
    ["/properties/a/not", "not", object({ not: { type: "string" }, a: { not: { type: "string" } } })],
    ["/properties/a/anyOf/1/not", "not", object({ a: { anyOf: [{ type: "string" }, { not: { type: "string" } }] } })],
    ["/properties/a/not", "not", object({ next: { $ref: "#" }, a: { not: { type: "string" } } })],
    ["/properties/a/type", "type", object({ next: { $ref: "#" }, a: { type: "strnig" } })],
    ["/$defs/P/type", "type", object({ b: { $ref: "#/$defs/P" } }, { $defs: { P: { type: "strnig" } } })],
    [
      "/$defs/P/type",
      "type",
      object({ b: { $ref: "#/$defs/P" }, c: { $ref: "#" } }, {
        $defs: { P: { type: "strnig" } }
      })
    ],
    [
      "/properties/a/exclusiveMinimum",
      "exclusiveMinimum",
      object({ a: { type: "number", minimum: 1, exclusiveMinimum: true } })
    ],
    [
      "/$defs/P/properties/y/not",
      "not",
      object({ b: { $ref: "#/$defs/P" } }, {
        $defs: { P: object({ p: { $ref: "#/$defs/P" }, y: { not: { type: "string" } } }) }
      })
    ]
  ]
  for (const [place, keyword, document] of refused) {
    it(`${place} cannot be checked: refused, or left out by name`, () => {
      const made = (unchecked?: "any" | ReadonlyArray<string>) =>
        Tool.fromJsonSchema("t", { parameters: document, unchecked, execute: () => Effect.void })
      assert.throws(() => made(), ConfigurationError.ConfigurationError, place)
      assert.throws(() => made(["title"]), ConfigurationError.ConfigurationError, place)
      assert.deepStrictEqual(made([keyword]).unchecked, [place])
      assert.deepStrictEqual(made("any").unchecked, [place])
    })
  }

  it("excludes patterns by default, which the tool lists as unchecked", () => {
    const document = object({ a: { type: "string", pattern: "^(a+)+$" } })
    const tool = Tool.fromJsonSchema("t", { parameters: document, execute: () => Effect.void })
    assert.deepStrictEqual(tool.unchecked, ["/properties/a/pattern"])
    assert.isTrue(accepts(document, {}, { a: `${"a".repeat(40)}!` }))
  })

  it.each<readonly [places: ReadonlyArray<string>, document: Record<string, unknown>]>([
    [["/properties/a/pattern"], object({ next: { $ref: "#" }, a: { type: "string", pattern: "^a$" } })],
    [["/$defs/P/pattern"], object({ a: { $ref: "#/$defs/P" } }, { $defs: { P: { type: "string", pattern: "^a$" } } })],
    [[], object({ a: { type: "string" } })]
  ])("patterns that are not applied: %j; none is left where they are", (places, document) => {
    assert.deepStrictEqual(Tool.schemaFromJsonSchema("S", document).unchecked, places)
    assert.deepStrictEqual(Tool.schemaFromJsonSchema("S", document, { patterns: "apply" }).unchecked, [])
  })

  it("refuses too large or deep parts whole, or leaves them unchecked", () => {
    const wide = object(Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`p${n}`, { not: { const: n } }])))
    let deep: Record<string, unknown> = { not: { const: 1 } }
    for (let n = 0; n < 600; n++) deep = { type: "array", items: deep }
    for (const document of [wide, object({ deep })]) {
      const any = Tool.schemaFromJsonSchema("S", document, { unchecked: "any" })
      assert.deepStrictEqual(any.unchecked, [""])
      assert.isTrue(accepts(document, { unchecked: "any" }, 5))
      assert.throws(
        () => Tool.schemaFromJsonSchema("S", document),
        ConfigurationError.ConfigurationError,
        "the whole schema"
      )
      assert.throws(
        () => Tool.schemaFromJsonSchema("S", document, { unchecked: ["not"] }),
        ConfigurationError.ConfigurationError,
        "the whole schema"
      )
    }
  })

  it("a schema may lie five hundred places deep, and no deeper", () => {
    const nested = (levels: number) => {
      let schema: Record<string, unknown> = {}
      for (let n = 0; n < levels; n++) schema = { items: schema }
      return schema
    }
    assert.deepStrictEqual(Tool.schemaFromJsonSchema("S", nested(500)).unchecked, [])
    assert.throws(
      () => Tool.schemaFromJsonSchema("S", nested(501)),
      ConfigurationError.ConfigurationError,
      "the whole schema"
    )
  })

  it("bounds a stranger's document: 20,000 schemas, flat or nested", () => {
    const wide = object(Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`p${n}`, { not: { const: n } }])))
    let deep: Record<string, unknown> = { not: { const: 1 } }
    for (let n = 0; n < 20_000; n++) deep = { type: "array", items: deep }
    const begun = process.threadCpuUsage()
    for (const document of [wide, object({ deep })]) {
      assert.deepStrictEqual(Tool.schemaFromJsonSchema("S", document, { unchecked: "any" }).unchecked, [""])
      assert.throws(
        () => Tool.schemaFromJsonSchema("S", document),
        ConfigurationError.ConfigurationError,
        "the whole schema"
      )
    }
    const { system, user } = process.threadCpuUsage(begun)
    assert.isBelow(user + system, 5_000_000)
  })

  it("a reference to nowhere is refused at its place", () => {
    assert.throws(
      () => Tool.schemaFromJsonSchema("S", object({ a: { $ref: "#/nowhere" } })),
      ConfigurationError.ConfigurationError,
      "/properties/a/$ref"
    )
  })
})

describe("Tool.fromJsonSchema", () => {
  const parameters = object({ n: { type: "integer" } }, { required: ["n"], additionalProperties: false })

  it.effect("checks arguments before the executor, and sends the schema unchanged", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const T = Tool.fromJsonSchema("t", {
        parameters,
        success: Schema.String,
        effects: "read",
        execute: (params) => Effect.sync(() => String(seen.push(params)))
      })
      const agent = Agent.make("a", { tools: [T], defaults: { onError: Recovery.standard } })
      const { model, script } = yield* ScriptedModel.make([
        ScriptedModel.call("t", { n: "1" }),
        ScriptedModel.call("t", { n: 1, more: true }),
        ScriptedModel.text("done")
      ])
      const { executed } = yield* agent.report("go").pipe(Effect.provideService(LanguageModel.LanguageModel, model))
      assert.deepStrictEqual(seen, [{ n: 1 }])
      assert.deepStrictEqual(executed.map(({ outcome }) => outcome), ["success"])
      assert.include(JSON.stringify((yield* script.requests)[1]), "n: expected")
      assert.deepStrictEqual(lastResults((yield* script.requests)[2]!.prompt).map(({ result }) => result), ["1"])
      assert.strictEqual(AiTool.getJsonSchema(T.definition), parameters)
    }))

  it.effect("a write refuses the unknown key of a closed object", () =>
    Effect.gen(function*() {
      const T = Tool.fromJsonSchema("t", { parameters, effects: "write", execute: () => Effect.void })
      assert.include(String(yield* call(T, { n: 1, dry_run: true })), "InvalidArgs")
    }))
})

describe("AiToolkit and dynamic tools", () => {
  const Remote = AiTool.dynamic("remote", {
    parameters: object({ n: { type: "integer" } }, { required: ["n"] }),
    success: Schema.String
  })
  const Local = AiTool.make("local", { parameters: Schema.Struct({ n: Schema.Int }), success: Schema.String })
  const handlers = (seen: Array<unknown>) =>
    Toolkit.make(Remote, Local).toLayer({
      remote: (params) => Effect.sync(() => String(seen.push(params))),
      local: (params) => Effect.sync(() => String(seen.push(params)))
    })

  it.effect("fromTool and fromToolkit check arguments by the JSON Schema", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const one = AiToolkit.fromTool(Remote, (params) => Effect.sync(() => String(seen.push(params))))
      const kit = yield* Toolkit.make(Remote, Local).pipe(Effect.provide(handlers(seen)))
      for (const tool of [one, ...AiToolkit.fromToolkit(kit)]) {
        assert.include(String(yield* call(tool, { n: "1" })), "InvalidArgs")
        assert.strictEqual(seen.length, 0)
      }
      for (const tool of [one, ...AiToolkit.fromToolkit(kit)]) yield* call(tool, { n: 1 })
      assert.deepStrictEqual(seen, [{ n: 1 }, { n: 1 }, { n: 1 }])
    }))

  it.effect("options of one tool by name, and of each by a function", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const kit = yield* Toolkit.make(Remote, Local).pipe(Effect.provide(handlers(seen)))
      const named = AiToolkit.fromToolkit(kit, { remote: { effects: "read", trust: "trusted" } })
      assert.deepStrictEqual(named.map((tool) => [tool.effects, tool.trust]), [["read", "trusted"], [
        undefined,
        "trusted"
      ]])
      const each = AiToolkit.fromToolkit(kit, ({ name }) => name === "local" ? { effects: "write" } : undefined)
      assert.deepStrictEqual(each.map((tool) => tool.effects), [undefined, "write"])
      assert.throws(
        () => AiToolkit.fromToolkit(kit, { remoet: {} } as {}),
        ConfigurationError.ConfigurationError,
        "remoet"
      )
      assert.throws(
        () => AiToolkit.fromToolkit(kit, { constructor: {} } as {}),
        ConfigurationError.ConfigurationError,
        "constructor"
      )
    }))

  it.effect("refuses an unknown name, and lists the toolkit's names", () =>
    Effect.gen(function*() {
      const kit = yield* Toolkit.make(Remote, Local).pipe(Effect.provide(handlers([])))
      const none = yield* Toolkit.make()
      const refused = (of: typeof kit, options: object) => {
        try {
          AiToolkit.fromToolkit(of, options as {})
          return "accepted"
        } catch (error) {
          return (error as Error).message
        }
      }
      const subject = "AiToolkit.fromToolkit: "
      assert.strictEqual(refused(kit, { x: {} }), `${subject}there is no tool "x". There is remote, local`)
      assert.strictEqual(refused(none as never, { x: {} }), `${subject}there is no tool "x". There is none`)
      assert.include(refused(kit, { __proto__: { remote: {} } }), `${subject}its table has a prototype of its own`)
      assert.strictEqual(refused(kit, { remote: {} }), "accepted")
      assert.strictEqual(refused(kit, Object.assign(Object.create(null) as object, { remote: {} })), "accepted")
    }))

  it.effect("idempotency, needsApproval and failure of a toolkit's tool hold", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const kit = yield* Toolkit.make(Remote, Local).pipe(Effect.provide(handlers(seen)))
      const [once] = AiToolkit.fromToolkit(kit, {
        remote: { effects: "write", idempotency: { key: (params: unknown) => JSON.stringify(params) } }
      })
      yield* call(once!, { n: 1 }).pipe(Effect.andThen(call(once!, { n: 1 })))
      assert.strictEqual(seen.length, 1)
      const [asked] = AiToolkit.fromToolkit(kit, { remote: { needsApproval: () => true } })
      assert.include(String(yield* call(asked!, { n: 2 })), "NotApproved")
      assert.strictEqual(seen.length, 1)
    }).pipe(Effect.provide(Layer.fresh(IdempotencyLedger.layerMemory))))
})
