/** Tools with `Tool.Strict`: sent in the strict form, and called with arguments in that form. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import type { HttpClientRequest } from "effect/http"
import { answering, observe, type Reply } from "../support/harness.ts"
import * as Server from "../support/server.ts"

class Order extends Schema.Class<Order>("Order")({ id: Schema.String, note: Schema.optionalKey(Schema.String) }) {}

/** Parameters, arguments in the strict form, and the same in the form of the schema. */
const parameters: Readonly<Record<string, readonly [schema: Schema.Top, strict: object, own: object]>> = {
  "no field": [Schema.Struct({}), {}, {}],
  "a required field": [Schema.Struct({ id: Schema.String }), { id: "a" }, { id: "a" }],
  "a class": [Order, { id: "a", note: null }, { id: "a" }],
  "an absent optional key": [Schema.Struct({ id: Schema.optionalKey(Schema.String) }), { id: null }, {}],
  "a present optional key": [Schema.Struct({ id: Schema.optionalKey(Schema.String) }), { id: "a" }, { id: "a" }],
  "null": [Schema.Struct({ id: Schema.NullOr(Schema.String) }), { id: null }, { id: null }],
  "a record": [
    Schema.Struct({ counts: Schema.Record(Schema.String, Schema.Int) }),
    { counts: [{ "0": "a", "1": 1 }] },
    {
      counts: { a: 1 }
    }
  ],
  "a tuple": [Schema.Struct({ at: Schema.Tuple([Schema.Int, Schema.Int]) }), { at: { "0": 1, "1": 2 } }, {
    at: [1, 2]
  }],
  "numbers of a list": [Schema.Struct({ n: Schema.Literals([1, 2]) }), { n: 2 }, { n: 2 }],
  "arguments that do not fit": [Schema.Struct({ id: Schema.String }), { id: null }, { id: null }]
}

type Json = { readonly [key: string]: Json } | ReadonlyArray<Json> | string | number | boolean | null

/** The objects of a schema that are not closed, or have a field that may be absent. */
const loose = (schema: Json): ReadonlyArray<Json> => {
  if (typeof schema !== "object" || schema === null) return []
  const inner = Object.values(schema).flatMap(loose)
  if (!("type" in schema) || schema["type"] !== "object") return inner
  const names = Object.keys(schema["properties"] as object)
  const isStrict = schema["additionalProperties"] === false &&
    JSON.stringify(names.toSorted()) === JSON.stringify((schema["required"] as ReadonlyArray<string>).toSorted())
  return isStrict ? inner : [schema, ...inner]
}

const answers = (args: object): Readonly<Record<"whole" | "streamed", Reply>> => {
  const call = { index: 0, id: "c", type: "function", function: { name: "act", arguments: JSON.stringify(args) } }
  const choice = { index: 0, finish_reason: "tool_calls" }
  return {
    whole: { body: JSON.stringify({ choices: [{ ...choice, message: { tool_calls: [call] } }] }) },
    streamed: {
      type: "text/event-stream",
      body: Server.event({ choices: [{ ...choice, delta: { tool_calls: [call] } }] }) + Server.done
    }
  }
}

const options = { prompt: "x", disableToolCallResolution: true, toolCallValidation: "deferred" } as const

const act = (schema: Schema.Top) =>
  Tool.make("act", { parameters: schema as Schema.Struct<{}>, success: Schema.String }).annotate(Tool.Strict, true)

describe("a strict tool", () => {
  for (const [name, [schema, strict, own]] of Object.entries(parameters)) {
    it.effect(`with ${name} is sent in the strict form, and read from it`, () =>
      Effect.gen(function*() {
        const toolkit = Toolkit.make(act(schema))
        const { streamed, whole } = answers(strict)
        const seen: Array<HttpClientRequest.HttpClientRequest> = []
        const { toolCalls } = yield* LanguageModel.generateText({ ...options, toolkit }).pipe(
          Effect.provide(answering(whole, {}, seen))
        )
        assert.deepStrictEqual<unknown>(toolCalls.map(({ params }) => params), [own])
        const { parts } = yield* observe(LanguageModel.streamText({ ...options, toolkit })).pipe(
          Effect.provide(answering(streamed))
        )
        assert.deepStrictEqual(parts.filter(({ type }) => type === "tool-call").map(({ params }) => params), [own])
        const body = seen[0]!.body
        assert.strictEqual(body._tag, "Uint8Array")
        const sent = JSON.parse(new TextDecoder().decode(body._tag === "Uint8Array" ? body.body : undefined))
        const { parameters, strict: isStrict } = sent.tools[0].function
        assert.deepStrictEqual([isStrict, parameters.type, loose(parameters)], [true, "object", []])
      }))
  }

  it.effect("without a strict form is refused before the request, by its name", () =>
    Effect.gen(function*() {
      const seen: Array<HttpClientRequest.HttpClientRequest> = []
      const either = Schema.Union([Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.String })])
      const error = yield* LanguageModel.generateText({ ...options, toolkit: Toolkit.make(act(either)) }).pipe(
        Effect.provide(answering({ body: "{}" }, {}, seen)),
        Effect.flip
      )
      assert.include(error.message, `"act" have no strict form`)
      assert.deepStrictEqual(seen, [])
    }))
})
