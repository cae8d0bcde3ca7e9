/** Conversations as JSON have the schema's form, also those made by hand. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Effect, Option, Schema } from "effect"
import { Prompt } from "effect/ai"

const codec = Schema.toCodecJson(Prompt.Prompt)
const encode = Schema.encodeSync(codec)
const decode = Schema.decodeUnknownSync(codec)

const Options = Schema.Literals(["none", "some"])
const Part = Schema.Struct({
  type: Schema.Literals(["text", "reasoning", "file", "tool-call"]),
  text: Schema.String,
  value: Schema.Json,
  options: Options
})
const Message = Schema.Struct({
  role: Schema.Literals(["system", "user", "assistant", "tool"]),
  parts: Schema.Array(Part),
  options: Options
})

const optionsOf = (options: typeof Options.Type) => options === "none" ? {} : { provider: { cached: true } }

const partOf = ({ options, text, type, value }: typeof Part.Type) =>
  type === "tool-call"
    ? Prompt.makePart(type, {
      id: text,
      name: "find",
      params: value,
      providerExecuted: text.length % 2 === 0,
      options: optionsOf(options)
    })
    : type === "file"
    ? Prompt.makePart("file", {
      mediaType: "text/plain",
      data: new TextEncoder().encode(text),
      options: optionsOf(options)
    })
    : Prompt.makePart(type, { text, options: optionsOf(options) })

const messageOf = ({ options, parts, role }: typeof Message.Type): Prompt.Message => {
  const more = { options: optionsOf(options) }
  switch (role) {
    case "system":
      return Prompt.makeMessage(role, { content: parts.map(({ text }) => text).join(), ...more })
    case "user":
      return Prompt.makeMessage(role, {
        content: parts.map(partOf).filter((part) => part.type === "text" || part.type === "file"),
        ...more
      })
    case "assistant":
      return Prompt.makeMessage(role, { content: parts.map(partOf), ...more })
    case "tool": {
      const results = parts.map(({ options, text, type, value }) =>
        Prompt.makePart("tool-result", {
          id: text,
          name: "find",
          isFailure: type === "file",
          providerExecuted: false,
          result: value,
          ...(type === "reasoning" ? { modelOutput: [Prompt.makePart("text", { text })] } : undefined),
          options: optionsOf(options)
        })
      )
      return Prompt.makeMessage(role, { content: results, ...more })
    }
  }
}

describe("conversations as JSON", () => {
  it.effect.prop(
    "JSON is the schema's, and is read as the schema reads it",
    [Schema.Array(Message)],
    ([drawn]) =>
      Effect.sync(() => {
        const prompt = Prompt.fromMessages(drawn.map(messageOf))
        const json = Conversation.encode(prompt)
        assert.deepStrictEqual(json, encode(prompt) as Schema.Json)
        assert.deepStrictEqual(Option.getOrThrow(Conversation.decode(json)), decode(json))
      })
  )

  it("decodes omitted options and a text in parts like the schema", () => {
    for (const role of ["user", "assistant"] as const) {
      for (const content of ["Hi", [], [{ type: "text", text: "a" }], [{ type: "text", text: "a", more: 1 }]]) {
        const json = { content: [{ role, content, more: 1 }] }
        assert.deepStrictEqual(Option.getOrThrow(Conversation.decode(json)), decode(json))
      }
    }
  })

  it("keeps the JSON part of values without a JSON form", () => {
    const cycle: Record<string, unknown> = {}
    cycle["itself"] = cycle
    const kept: ReadonlyArray<readonly [value: unknown, json: unknown]> = [
      [{ n: 12n, list: [undefined, () => 1], none: undefined }, { n: "12", list: [null, null] }],
      [undefined, null],
      [() => 1, null],
      [cycle, null]
    ]
    for (const [params, json] of kept) {
      const prompt = Prompt.fromMessages([
        Prompt.makeMessage("user", { content: [Prompt.makePart("text", { text: "Hi" })] }),
        Prompt.makeMessage("assistant", {
          content: [Prompt.makePart("tool-call", { id: "c1", name: "find", params, providerExecuted: false })]
        })
      ])
      const { content: [said, called] } = Conversation.encode(prompt) as unknown as {
        readonly content: ReadonlyArray<{ readonly content: unknown }>
      }
      const [part] = called!.content as ReadonlyArray<{ readonly params: unknown }>
      assert.deepStrictEqual([said!.content, part!.params], ["Hi", json])
    }
  })

  it("an invalid conversation decodes to none", () => {
    const text = { type: "text", text: "a" }
    const none: ReadonlyArray<unknown> = [
      undefined,
      null,
      "Hi",
      [],
      {},
      { content: "Hi" },
      { content: [null] },
      { content: [{ role: "user", content: 1 }] },
      { content: [{ role: "user", content: [{ type: "text" }] }] },
      { content: [{ role: "nobody", content: "Hi" }] },
      { content: [{ role: "system", content: [text] }] },
      { content: [{ role: "tool", content: [text] }] },
      { content: [{ role: "user", content: [text], options: "none" }] },
      { content: [{ role: "user", content: [{ ...text, options: [] }] }] },
      { content: [{ content: "Hi" }] },
      { content: [5] },
      { content: [{ role: "user", content: [null] }] },
      { content: [{ role: "user", content: [5] }] },
      ...[5, true, null, "", []].flatMap((options) => [
        { content: [{ role: "user", content: "Hi", options }] },
        { content: [{ role: "user", content: [{ ...text, options }] }] }
      ])
    ]
    for (const json of none) {
      assert.deepStrictEqual(
        Option.getOrUndefined(Conversation.decode(json)),
        Option.getOrUndefined(Schema.decodeUnknownOption(codec)(json)),
        JSON.stringify(json)
      )
    }
  })
})

describe("a thread as data", () => {
  const read = <A, I>(schema: Schema.Codec<A, I>) => Schema.decodeUnknownOption(Schema.toCodecJson(schema))
  const thread = {
    id: "t1",
    owner: "ada",
    title: "Refunds",
    version: 3,
    createdAt: 1,
    updatedAt: 2,
    isRunning: false,
    isWaiting: true
  }
  const message = { options: {}, role: "user", content: "Hello" }
  const events: ReadonlyArray<object> = [
    { _tag: "MessageAdded", audience: "everyone", message },
    { _tag: "MessageAdded", audience: "model", message },
    { _tag: "MessageAdded", audience: "people", message },
    { _tag: "ToolCallsPruned", calls: ["c1"] },
    { _tag: "HistoryCompacted", through: 2, by: [message] }
  ]

  it("has its own fields, and entries of each kind", () => {
    assert.deepStrictEqual<unknown>(read(Conversation.Thread)(thread), Option.some(thread))
    for (const event of events) {
      const entry = { position: 1, at: 5, runId: "r1", event }
      assert.deepStrictEqual<unknown>(read(Conversation.Entry)(entry), Option.some(entry))
    }
  })

  it.each<readonly [wrong: string, schema: Schema.Codec<unknown, unknown>, json: object]>([
    ["a thread without an owner", Conversation.Thread as never, { ...thread, owner: null }],
    ["a thread without a version", Conversation.Thread as never, { ...thread, version: 1.5 }],
    ["an entry without a position", Conversation.Entry as never, { position: "1", at: 5, event: events[0] }],
    ["an entry of nothing", Conversation.Entry as never, { position: 1, at: 5, event: { _tag: "Sung" } }],
    ["what nobody reads", Conversation.Event as never, { _tag: "MessageAdded", audience: "nobody", message }],
    ["what was not said", Conversation.Event as never, { _tag: "MessageAdded", audience: "model" }],
    ["calls without ids", Conversation.Event as never, { _tag: "ToolCallsPruned", calls: [1] }],
    ["what takes the place of nothing", Conversation.Event as never, { _tag: "HistoryCompacted", by: [] }]
  ])("is not %s", (_, schema, json) => assert.isTrue(Option.isNone(read(schema)(json))))
})
