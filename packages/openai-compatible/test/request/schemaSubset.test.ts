/** Schemas for servers that read a part of JSON Schema. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool } from "@recourse/core"
import { Presets } from "@recourse/openai-compatible"
import { Effect, Schema } from "effect"
import { LanguageModel } from "effect/ai"
import { bodyOf } from "../support/requestBodies.ts"
import * as Server from "../support/server.ts"

const { quirks } = Presets.get("gemini")!

const text = { type: "string" }

/** Schemas of a property, with the sent ones. */
const properties: Readonly<Record<string, readonly [schema: object, sent: object]>> = {
  "a number in an enum": [{ enum: [1, 2] }, { type: "integer", description: "one of 1, 2" }],
  "a described number in an enum": [{ type: "number", description: "Size", enum: [0.5, 1] }, {
    type: "number",
    description: "Size (one of 0.5, 1)"
  }],
  "a boolean in an enum": [{ enum: [true] }, { type: "boolean", description: "one of true" }],
  "null in an enum": [{ enum: ["a", null] }, { type: "string", enum: ["a"], nullable: true }],
  "a const": [{ const: "a" }, { type: "string", enum: ["a"] }],
  "a const that is a number": [{ const: 5 }, { type: "integer", description: "one of 5" }],
  "a reference": [{ $ref: "#/$defs/node", description: "Top" }, {
    type: "object",
    description: "Top",
    properties: { name: text, child: { type: "object" } }
  }],
  "a reference to nothing": [{ $ref: "#/$defs/nowhere" }, {}],
  "oneOf with null": [{ oneOf: [text, { type: "null" }], description: "Name" }, {
    ...text,
    description: "Name",
    nullable: true
  }],
  "oneOf of two": [{ oneOf: [text, { type: "integer", exclusiveMinimum: 0 }] }, {
    anyOf: [text, { type: "integer", minimum: 1 }]
  }],
  "several types": [{ type: ["string", "integer", "null"] }, { anyOf: [text, { type: "integer" }], nullable: true }],
  "allOf": [{
    allOf: [{ type: "object", properties: { a: text }, required: ["a"] }, { properties: { b: text }, required: ["b"] }]
  }, { type: "object", properties: { a: text, b: text }, required: ["a", "b"] }],
  "a list of anything": [{ type: "array" }, { type: "array", items: text }],
  "a tuple": [{ type: "array", prefixItems: [text, { type: "number" }], minItems: 2 }, {
    type: "array",
    items: { anyOf: [text, { type: "number" }] },
    minItems: 2
  }],
  "unknown keywords": [
    {
      type: "string",
      format: "uri",
      default: "x",
      examples: ["y"],
      $comment: "z",
      exclusiveMinimum: 1,
      maxLength: 3
    },
    { type: "string", maxLength: 3 }
  ],
  "a known format": [{ type: "string", format: "date-time" }, { type: "string", format: "date-time" }],
  "anything": [{}, {}],
  "required without a property": [{ type: "object", properties: { a: text }, required: ["b"] }, {
    type: "object",
    properties: { a: text }
  }]
}

const $defs = { node: { type: "object", properties: { name: text, child: { $ref: "#/$defs/node" } } } }

const parametersOf = (schema: object) => {
  const tool = Tool.fromJsonSchema("t", {
    parameters: { type: "object", properties: { p: schema }, $defs },
    unchecked: "any",
    effects: "read",
    execute: () => Effect.void
  })
  return Effect.map(
    bodyOf(Agent.make("a", { tools: [tool] }).run("Hello"), { quirks }),
    (body) => body.tools[0].function.parameters
  )
}

describe("the preset of Gemini", () => {
  for (const [title, [schema, sent]] of Object.entries(properties)) {
    it.effect(`sends a property with ${title} as the server reads it`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* parametersOf(schema), { type: "object", properties: { p: sent } })
      }))
  }

  it.effect("sends schemas of answers in the same form", () =>
    Effect.gen(function*() {
      const body = yield* bodyOf(
        LanguageModel.generateObject({ prompt: "Hello", schema: Schema.Struct({ size: Schema.Literals([1, 2]) }) }),
        { quirks },
        Server.completion({ content: "{\"size\":1}" })
      )
      assert.deepStrictEqual(body.response_format.json_schema.schema.properties, {
        size: { type: "number", description: "one of 1, 2" }
      })
    }))
})
