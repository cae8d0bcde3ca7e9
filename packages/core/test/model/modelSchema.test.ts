import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { Tool as AiTool } from "effect/ai"
import { Tool, ToolCall } from "@recourse/core"

const text = { type: "string" }
const node = {
  type: "object",
  properties: { name: text, children: { type: "array", items: { $ref: "#/$defs/node" } } },
  required: ["name"]
}

/** Schemas that providers refuse, with arguments that fit and arguments that do not. */
const refused: Readonly<Record<string, readonly [schema: Record<string, unknown>, fits: unknown, fails: unknown]>> = {
  "alternatives": [
    {
      type: "object",
      oneOf: [{ properties: { id: text }, required: ["id"] }, { properties: { slug: text }, required: ["slug"] }]
    },
    { id: "a" },
    {}
  ],
  "alternatives with the same property": [
    {
      type: "object",
      anyOf: [{ properties: { id: text }, required: ["id"] }, {
        properties: { id: { type: "integer" } },
        required: ["id"]
      }]
    },
    { id: 1 },
    { id: true }
  ],
  "parts": [
    {
      allOf: [{ properties: { a: text }, required: ["a"] }, { $ref: "#/$defs/b" }],
      $defs: { b: { type: "object", properties: { b: text } } }
    },
    { a: "1", b: "2" },
    { b: "2" }
  ],
  "a reference": [{ $ref: "#/$defs/node", $defs: { node } }, { name: "a", children: [{ name: "b" }] }, {
    name: "a",
    children: [{}]
  }],
  "a reference of draft 7": [
    { $ref: "#/definitions/Q", definitions: { Q: { type: "object", properties: { q: text }, required: ["q"] } } },
    { q: "a" },
    { q: 1 }
  ],
  "a reference to itself": [{ type: "object", properties: { name: text, child: { $ref: "#" } }, required: ["name"] }, {
    name: "a",
    child: { name: "b" }
  }, { name: "a", child: {} }],
  "parts that refer to each other": [
    {
      type: "object",
      oneOf: [{ properties: { a: text }, required: ["a"] }, {
        properties: { b: { $ref: "#/oneOf/0/properties/a" } },
        required: ["b"]
      }]
    },
    { b: "1" },
    { b: 1 }
  ]
}

/** Schemas whose sent form only is tested. */
const faulty: Readonly<Record<string, Record<string, unknown>>> = {
  "a condition": {
    type: "object",
    properties: { a: text },
    if: { required: ["a"] },
    // oxlint-disable-next-line unicorn/no-thenable
    then: { properties: { b: text } }
  },
  "a negation": { type: "object", not: { required: ["a"] } },
  "values": { enum: [{ a: 1 }] },
  "no type": { properties: { a: text } },
  "no properties": { type: "object" },
  "a reference to itself alone": { $ref: "#" },
  "references in a circle": { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
  "a reference to nowhere": {
    type: "object",
    properties: { a: { $ref: "#/$defs/none" }, b: { $ref: "https://example.com/b" } }
  },
  "an unknown type": { type: "object", properties: { a: { type: "strng" } } },
  "text as required": { type: "object", properties: { a: { type: "object", required: "b" } } },
  "an own property of the prototype's name": { type: "object", oneOf: [{ properties: { constructor: text } }] }
}

const toolOf = (parameters: Record<string, unknown>) =>
  Tool.fromJsonSchema("a", { parameters, unchecked: "any", execute: () => Effect.void })

const sentOf = (parameters: Record<string, unknown>) =>
  AiTool.getJsonSchema(toolOf(parameters).definition) as Record<string, any>

const references = (value: unknown): ReadonlyArray<string> =>
  typeof value !== "object" || value === null ?
    [] :
    Object.entries(value).flatMap(([key, one]) => key === "$ref" && typeof one === "string" ? [one] : references(one))

const resolves = (schema: unknown, reference: string) => {
  let at = schema
  for (const token of reference.split("/").slice(1)) at = (at as Record<string, unknown> | undefined)?.[token]
  return reference.startsWith("#") && at !== undefined
}

const keywords = new Set(["$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const"])

describe("the JSON Schema of a tool that a model is sent", () => {
  for (
    const [what, schema] of [
      ...Object.entries(refused).map(([what, [schema]]) => [what, schema] as const),
      ...Object.entries(faulty)
    ]
  ) {
    it(`is an object at its root for ${what}`, () => {
      const sent = sentOf(schema)
      assert.strictEqual(sent.type, "object")
      assert.isObject(sent.properties)
      assert.deepStrictEqual(Object.keys(sent).filter((keyword) => keywords.has(keyword)), [])
      for (const reference of references(sent)) assert.isTrue(resolves(sent, reference), reference)
    })
  }

  for (const [what, [schema, fits, fails]] of Object.entries(refused)) {
    it.effect(`differs from the checking schema for ${what}`, () =>
      Effect.gen(function*() {
        const run = (args: unknown) =>
          Effect.exit(
            Effect.provideService(toolOf(schema).call, ToolCall.ToolCall, ToolCall.make({ id: "c", arguments: args }))
          )
        assert.isTrue(Exit.isSuccess(yield* run(fits)))
        assert.isTrue(Exit.isFailure(yield* run(fails)))
        // A model that follows the sent schema can write fitting values.
        assert.isTrue(Schema.is(Tool.schemaFromJsonSchema("sent", sentOf(schema), { unchecked: "any" }).schema)(fits))
      }))
  }

  it("has a recursive root in its definitions", () => {
    const sent = sentOf({ type: "object", properties: { child: { $ref: "#" } } })
    assert.deepStrictEqual(sent, {
      type: "object",
      properties: { child: { $ref: "#/$defs/root" } },
      $defs: { root: { type: "object", properties: { child: { $ref: "#/$defs/root" } } } }
    })
  })

  it("sends the tool's own JSON Schema if providers accept it", () => {
    const own = { type: "object", properties: { a: text, b: { $ref: "#/properties/a" } }, required: ["a"] }
    assert.strictEqual(sentOf(own), own)
  })
})
