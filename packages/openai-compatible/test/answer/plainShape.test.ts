/** Plain shapes are those that the schemas would decode to themselves. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const internal = new URL("../../src/internal/answer/", import.meta.url)
const { isChunk, isCompletion }: Readonly<Record<"isChunk" | "isCompletion", (json: unknown) => boolean>> =
  await import(new URL("plainShape.ts", internal).href) as never
const { Chunk, Completion }: Readonly<Record<"Chunk" | "Completion", Schema.Codec<object>>> = await import(
  new URL("wire.ts", internal).href
) as never

const seed = Number(
  (globalThis as { readonly process?: { readonly env: Record<string, string | undefined> } }).process
    ?.env["RECOURSE_SEED"] ?? 1
)

/** Numbers between 0 and 1: mulberry32. */
const drawn = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}

const call = { index: 0, id: "c1", type: "function", function: { name: "f", arguments: "{}" }, signature: "s" }
const message = {
  role: "assistant",
  content: "text",
  refusal: null,
  reasoning_content: "thought",
  tool_calls: [call, { function: null }],
  function_call: { name: "f", arguments: {} },
  annotations: [],
  signature: "s"
}
const head = { id: "1", model: "m", created: 1, object: "x", usage: { prompt_tokens: 1 }, system_fingerprint: null }
const whole = { ...head, choices: [{ index: 0, message, finish_reason: "stop", logprobs: null }] }
const piece = { ...head, choices: [{ index: 0, delta: message, finish_reason: null }, { delta: null }] }

const odd = [null, undefined, 0, 1.5, "", "1", true, [], {}, [null], [{}], { name: 1 }, [[]], { index: {} }]

/** The value with one part of it, at any depth, replaced or left out. */
const changed = (value: unknown, random: () => number): unknown => {
  const one = <A>(all: ReadonlyArray<A>): A => all[Math.floor(random() * all.length)]!
  if (typeof value !== "object" || value === null || random() < 0.15) return one(odd)
  const keys = Object.keys(value)
  if (keys.length === 0) return one(odd)
  const key = one(keys)
  if (Array.isArray(value)) return value.map((item, at) => String(at) === key ? changed(item, random) : item)
  const { [key]: part, ...rest } = value as Record<string, unknown>
  return random() < 0.1 ? rest : { ...rest, [key]: changed(part, random) }
}

/** Named fields of a value in the schema, at its top and in each choice. */
const named = (value: object, pattern: object): unknown =>
  Object.fromEntries(
    Object.entries(value).filter(([key]) => key in pattern).map(([key, part]) => [
      key,
      key === "choices" ? (part as ReadonlyArray<object>).map((choice) => named(choice, inChoice)) : part
    ])
  )
const inHead = { ...head, choices: 0, x_groq: 0, citations: 0, search_results: 0, object: undefined }
const inChoice = { index: 0, finish_reason: 0, usage: 0, message: 0, delta: 0 }

describe.each([["a completion", whole, isCompletion, Completion], ["a chunk", piece, isChunk, Chunk]] as const)(
  "%s",
  (_, usual, isPlain, schema) => {
    it("a body of a usual server is plain", () => {
      assert.isTrue(isPlain(usual))
    })

    it(`that is plain is decoded to itself by its schema (seed ${seed})`, () => {
      const random = drawn(seed)
      const decode = Schema.decodeUnknownSync(schema)
      let plain = 0
      for (let n = 0; n < 4_000; n++) {
        let value: unknown = usual
        for (let changes = random() * 3; changes > 0; changes--) value = changed(value, random)
        if (!isPlain(value)) continue
        plain++
        const { object: _, system_fingerprint: __, ...expected } = named(value as object, inHead) as typeof head
        assert.deepStrictEqual<object>(decode(value), expected, JSON.stringify(value))
      }
      assert.isAbove(plain, 500)
    })
  }
)
