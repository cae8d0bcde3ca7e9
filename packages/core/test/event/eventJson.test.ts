import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Option, Result, Schema } from "effect"
import { Prompt } from "effect/ai"
import { AgentEvent, EventJson } from "@recourse/core"

const bySchema = Schema.encodeUnknownResult(Schema.toCodecJson(AgentEvent.AgentEvent))

const conversation = Prompt.make([
  { role: "system", content: "Be brief." },
  { role: "user", content: [{ type: "text", text: "Find 7." }] },
  {
    role: "assistant",
    content: [{ type: "tool-call", id: "c1", name: "find", params: { n: 7 }, providerExecuted: false }]
  },
  {
    role: "tool",
    content: [{ type: "tool-result", id: "c1", name: "find", isFailure: false, result: [7], providerExecuted: false }]
  }
])

/** Events of a kind. No generator has conversations. */
const drawn = (kind: Schema.Struct<Schema.Struct.Fields>) => {
  const { compacted, messages, replacedInput, transcript, ...fields } = kind.fields
  return Effect.map(
    Effect.orDie(Arbitrary.sampleEffect(Arbitrary.schema(Schema.Struct(fields) as unknown as Schema.Codec<object>), {
      seed: 1,
      count: 20
    })),
    (events) =>
      events.map((event) =>
        ({
          ...event,
          ...(compacted && { compacted: { count: 3, prompt: conversation } }),
          ...(messages && { messages: conversation }),
          ...(replacedInput && { replacedInput: conversation }),
          ...(transcript && { transcript: conversation })
        }) as unknown as AgentEvent.AgentEvent
      )
  )
}

describe("events as JSON", () => {
  class Point {
    readonly x = 1
    readonly y = undefined
  }
  const nested = (levels: number): unknown => levels === 0 ? 1 : [nested(levels - 1)]
  const round: Record<string, unknown> = {}
  round["round"] = [round]
  const result = (value: unknown) =>
    (EventJson.encode({ _tag: "ToolResult", result: value } as AgentEvent.AgentEvent) as { readonly result: unknown })
      .result

  it.each<unknown>([
    null,
    true,
    "",
    -1.5,
    [],
    {},
    { a: [1, { b: null }], c: "x" },
    Object.assign(Object.create(null) as object, { a: [1] }),
    { toJSON: 1, a: 2 },
    nested(500)
  ])("have a result itself where it is JSON", (value) => assert.strictEqual(result(value), value))

  it.each<readonly [what: string, value: unknown, json: unknown]>([
    ["without fields of which there is nothing", { a: undefined, b: 1 }, { b: 1 }],
    ["with null for an item of which there is nothing", [undefined, 1], [null, 1]],
    ["the same further within", [{ a: { b: undefined } }, 2], [{ a: {} }, 2]],
    ["by its own JSON", { at: new Date(0), b: [new Date(0), 1] }, {
      at: "1970-01-01T00:00:00.000Z",
      b: ["1970-01-01T00:00:00.000Z", 1]
    }],
    ["of an instance its fields", { p: new Point() }, { p: { x: 1 } }],
    ["of an instance alone its fields", new Point(), { x: 1 }],
    ["of one with its own JSON that", { toJSON: () => ({ a: undefined, b: [1] }) }, { b: [1] }]
  ])("have a result %s", (_, value, json) => {
    const before = JSON.stringify(value)
    assert.deepStrictEqual(result(value), json)
    assert.strictEqual(JSON.stringify(value), before, "is as it was")
  })

  const none: ReadonlyArray<readonly [what: string, value: unknown]> = [
    ["nothing", undefined],
    ["no number", NaN],
    ["a number without an end", -Infinity],
    ["a bigint", 1n],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["a map", new Map([[1, 2]])],
    ["a set", new Set([1])],
    ["bytes", new Uint8Array([1])],
    ["a view of bytes", new DataView(new ArrayBuffer(1))],
    ["a buffer", new ArrayBuffer(1)],
    ["what JSON makes of itself that is none", { toJSON: () => NaN }],
    ["what cannot be read", {
      get a() {
        throw new Error("a")
      }
    }],
    ["a round", round],
    ["five hundred and one levels", nested(501)]
  ]
  it.each(none)("have null for a result that JSON cannot hold: %s", (_, value) => {
    assert.isNull(result(value))
    if (value === undefined) return
    assert.isNull(result({ a: 1, b: value }))
    assert.isNull(result([[1, value]]))
  })

  it("have no empty field, except a value of the program's own", () => {
    const event = {
      _tag: "AgentFinished",
      runId: "r",
      agentRunId: "r",
      path: ["a"],
      sequence: 1,
      at: 0,
      outcome: "success",
      output: undefined,
      code: undefined
    } as unknown as AgentEvent.AgentEvent
    const { code: _, ...rest } = event as unknown as Record<string, unknown>
    assert.deepStrictEqual<unknown>(EventJson.encode(event), { ...rest, output: null })
  })

  it.effect("encode and decode by the schema, for each kind", () =>
    Effect.gen(function*() {
      const kinds = AgentEvent.AgentEvent.members
      const compared = new Set<string>()
      for (const kind of kinds) {
        for (const event of yield* drawn(kind as unknown as Schema.Struct<Schema.Struct.Fields>)) {
          const json = EventJson.encode(event)
          assert.strictEqual(JSON.stringify(JSON.parse(JSON.stringify(json))), JSON.stringify(json), "is JSON")
          assert.strictEqual(Option.getOrUndefined(EventJson.decode(json))?._tag, event._tag, JSON.stringify(json))
          const expected = bySchema(event)
          // A value of the program's own may have no JSON.
          if (Result.isFailure(expected)) continue
          compared.add(event._tag)
          assert.deepStrictEqual<unknown>(json, expected.success, event._tag)
        }
      }
      assert.strictEqual(compared.size, kinds.length)
    }))

  it("are read as no event if a conversation in them is none", () => {
    const event = { runId: "r", agentRunId: "r", path: ["a"], sequence: 0, at: 0, turn: 1, kept: 0, tools: [] }
    const decoded = (messages: unknown) => EventJson.decode({ _tag: "ModelRequested", ...event, messages })
    assert.isTrue(Option.isSome(decoded({ content: [{ role: "user", content: "Hi" }] })))
    for (const none of [undefined, null, "Hi", {}, { content: "Hi" }, { content: [{ role: "page", content: "Hi" }] }]) {
      assert.isTrue(Option.isNone(decoded(none)), JSON.stringify(none))
    }
    const { messages: _messages, ...left } = { _tag: "ModelRequested", ...event, messages: 0 }
    assert.isTrue(Option.isNone(EventJson.decode(left)))
  })
})
