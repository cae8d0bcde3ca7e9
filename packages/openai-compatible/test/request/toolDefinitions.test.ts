import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import type { HttpBody, HttpClientRequest } from "effect/http"
import type { OpenAiCompatible } from "@recourse/openai-compatible"
import { answering } from "../support/harness.ts"

const reply = { body: JSON.stringify({ choices: [{ message: { content: "fine" }, finish_reason: "stop" }] }) }

const find = (parameters: Schema.Struct<{ readonly name: typeof Schema.String }>, description: string) =>
  Tool.make("find", { description, parameters, success: Schema.String })

const bodyOf = (request: HttpClientRequest.HttpClientRequest): unknown =>
  JSON.parse(new TextDecoder().decode((request.body as HttpBody.Uint8Array).body))

const ask = (tool: ReturnType<typeof find>, inline = false) =>
  Effect.gen(function*() {
    const seen: Array<HttpClientRequest.HttpClientRequest> = []
    yield* LanguageModel.generateText({
      prompt: "Hello",
      toolkit: Toolkit.make(tool),
      disableToolCallResolution: true,
      toolCallValidation: "deferred"
    }).pipe(Effect.provide(answering(reply, inline ? { quirks: { tools: "inline" } } : {}, seen)))
    return bodyOf(seen[0]!) as {
      readonly tools?: unknown
      readonly messages: ReadonlyArray<{ readonly content: string }>
    }
  })

/** A definition that counts the conversions of its schema. */
const counting = () => {
  let conversions = 0
  const definition = find(Schema.Struct({ name: Schema.String }), "Finds a customer")
  const { parametersSchema } = definition
  Object.defineProperty(definition, "parametersSchema", {
    get: () => {
      if (new Error().stack?.includes("sentSchema") === true) conversions++
      return parametersSchema
    }
  })
  return { definition, conversions: () => conversions }
}

describe("the definitions of a request", () => {
  it.effect("convert a tool's schema once for all requests and tool modes", () =>
    Effect.gen(function*() {
      const { conversions, definition } = counting()
      const first = yield* ask(definition)
      const second = yield* ask(definition)
      const inline = yield* ask(definition, true)
      assert.strictEqual(conversions(), 1)
      assert.deepStrictEqual(second, first)
      assert.isUndefined(inline.tools)
      assert.include(inline.messages[0]!.content, `{"name":"find","description":"Finds a customer","parameters":`)
      assert.notInclude(inline.messages[0]!.content, "strict")
    }))

  it.effect("differ for definitions of the same name", () =>
    Effect.gen(function*() {
      const schema = Schema.Struct({ name: Schema.String })
      const described = (tools: unknown) =>
        (tools as ReadonlyArray<{ readonly function: { readonly description: string } }>)[0]!.function.description
      assert.strictEqual(described((yield* ask(find(schema, "One"))).tools), "One")
      assert.strictEqual(described((yield* ask(find(schema, "Two"))).tools), "Two")
    }))
})

describe("the body of a request", () => {
  const body = (settings: Partial<OpenAiCompatible.Options>) =>
    Effect.gen(function*() {
      const seen: Array<HttpClientRequest.HttpClientRequest> = []
      yield* LanguageModel.generateText({
        prompt: "Hello",
        toolkit: Toolkit.make(find(Schema.Struct({ name: Schema.String }), `a "quoted" \\ \ud800 name`)),
        disableToolCallResolution: true
      }).pipe(Effect.provide(answering(reply, settings, seen)))
      return bodyOf(seen[0]!) as Readonly<Record<string, unknown>>
    })

  it.effect("has each tool and all other fields, in well-formed JSON", () =>
    Effect.gen(function*() {
      const { messages, tools, ...rest } = yield* body({ temperature: 0, body: { user: "ada" } })
      assert.deepStrictEqual(rest, { model: "m", tool_choice: "auto", temperature: 0, user: "ada" })
      assert.lengthOf(messages as ReadonlyArray<unknown>, 1)
      const [tool] = tools as ReadonlyArray<{ readonly function: { readonly description: string } }>
      assert.strictEqual(tool?.function.description, `a "quoted" \\ \ufffd name`)
    }))

  it.effect("has the settings' tools instead of the offered ones", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* body({ body: { tools: [{ type: "web_search" }] } }))["tools"], [{
        type: "web_search"
      }])
    }))
})

describe("the format of a request", () => {
  it.effect("is made of its schema once for all requests", () =>
    Effect.gen(function*() {
      let conversions = 0
      const schema = Schema.Struct({ name: Schema.String })
      const { ast } = schema
      Object.defineProperty(schema, "ast", {
        get: () => {
          if (new Error().stack?.includes("jsonSchemaOf") === true) conversions++
          return ast
        }
      })
      const object = {
        body: JSON.stringify({ choices: [{ message: { content: `{"name":"a"}` }, finish_reason: "stop" }] })
      }
      const seen: Array<HttpClientRequest.HttpClientRequest> = []
      const once = LanguageModel.generateObject({ prompt: "Hello", schema })
      yield* Effect.forEach([1, 2, 3], () => once).pipe(Effect.provide(answering(object, {}, seen)))
      assert.strictEqual(seen.length, 3)
      assert.deepStrictEqual(bodyOf(seen[2]!), bodyOf(seen[0]!))
      assert.isAbove(conversions, 0)
      const before = conversions
      yield* once.pipe(Effect.provide(answering(object, {}, seen)))
      assert.strictEqual(conversions, before)
    }))
})
