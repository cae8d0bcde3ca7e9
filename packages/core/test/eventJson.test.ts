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

/** Events of a kind. Nothing draws conversations. */
const drawn = (kind: Schema.Struct<Schema.Struct.Fields>) => {
  const { compacted, messages, transcript, ...fields } = kind.fields
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
          ...(transcript && { transcript: conversation })
        }) as unknown as AgentEvent.AgentEvent
      )
  )
}

describe("events as JSON", () => {
  it("have no field of which there is nothing, unless it is a value of the program's own", () => {
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

  it.effect("are, for each kind of event, what the schema says, and read back", () =>
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
})
