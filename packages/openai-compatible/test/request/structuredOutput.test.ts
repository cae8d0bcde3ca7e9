/** Requests with a format of the answer. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { LanguageModel } from "effect/ai"
import { model } from "../support/harness.ts"
import * as Server from "../support/server.ts"
import { bodyOf } from "../support/requestBodies.ts"

describe("structured output", () => {
  const Answer = Schema.Struct({ keys: Schema.Int, note: Schema.optional(Schema.String) })
  const ask = LanguageModel.generateObject({ prompt: "Count", schema: Answer, objectName: "answer" })
  const reply = Server.completion({ content: "{\"keys\":2,\"note\":null}" })
  const schema = {
    type: "object",
    properties: {
      keys: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      note: { anyOf: [{ type: "string" }, { type: "null" }] }
    },
    required: ["keys", "note"],
    additionalProperties: false
  }

  it.effect("is asked for by schema, and decoded by it", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(reply)
      const { value } = yield* ask.pipe(Effect.provide(model(server.url)))
      assert.deepStrictEqual(value, { keys: 2 })
      const { body } = server.requests[0]!
      assert.strictEqual(body.response_format.type, "json_schema")
      assert.strictEqual(body.response_format.json_schema.name, "answer")
      assert.notProperty(body.response_format.json_schema, "description")
      assert.strictEqual(body.response_format.json_schema.strict, true)
      assert.deepStrictEqual(body.response_format.json_schema.schema.required, schema.required)
      assert.strictEqual(body.response_format.json_schema.schema.additionalProperties, false)
      assert.deepStrictEqual(body.messages, [{ role: "user", content: "Count" }])
    }))

  it.effect("has the description of its schema", () =>
    Effect.gen(function*() {
      const body = yield* bodyOf(
        LanguageModel.generateObject({
          prompt: "Count",
          schema: Schema.Struct({ keys: Schema.Int }).annotate({ description: "How many keys" })
        }),
        {},
        Server.completion({ content: "{\"keys\":2}" })
      )
      assert.strictEqual(body.response_format.json_schema.description, "How many keys")
    }))

  for (const structuredOutput of ["json_object", "prompt"] as const) {
    it.effect(`falls back to ${structuredOutput} with the schema in the prompt`, () =>
      Effect.gen(function*() {
        const server = yield* Server.make(reply)
        const { value } = yield* ask.pipe(Effect.provide(model(server.url, { quirks: { structuredOutput } })))
        assert.deepStrictEqual(value, { keys: 2 })
        const { body } = server.requests[0]!
        assert.deepStrictEqual(
          body.response_format,
          structuredOutput === "json_object" ? { type: "json_object" } : undefined
        )
        assert.strictEqual(body.messages[0].role, "system")
        assert.include(body.messages[0].content, "\"required\":[\"keys\",\"note\"]")
        assert.deepStrictEqual(body.messages[1], { role: "user", content: "Count" })
      }))
  }

  it.effect("of a non-object schema fails before sending", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(reply)
      const error = yield* LanguageModel.generateObject({
        prompt: "Count",
        schema: Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Struct({ b: Schema.Int })])
      }).pipe(Effect.flip, Effect.provide(model(server.url)))
      assert.strictEqual(error.reason._tag, "UnsupportedSchemaError")
      assert.strictEqual(server.requests.length, 0)
    }))
})
