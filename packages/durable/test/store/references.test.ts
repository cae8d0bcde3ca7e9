/** References in stored JSON, and the hashes that name conversations. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { WebCrypto } from "effect/crypto"

type Json = Schema.Json

const load = (file: string): Promise<unknown> =>
  import(new URL(`../../src/internal/store/${file}.ts`, import.meta.url).href)

const { longTexts, References, unpack } = await load("references") as {
  readonly References: new(messages: ReadonlyArray<Json>) => {
    readonly note: (position: number, texts: ReadonlyArray<string>, before?: number) => void
    readonly pack: (json: Json) => Json
    readonly endIn: (transcript: ReadonlyArray<Json>) => number | undefined
  }
  readonly longTexts: (json: Json) => ReadonlyArray<string>
  readonly unpack: (json: Json, named: object) => Json
}
const { chainedHashes } = await load("digest") as {
  readonly chainedHashes: (seed: string, texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
}

const long = "a text that is long enough to be named, and not to be stored a second time"
const user = (content: string) => ({ role: "user", options: {}, content })
const conversation = [user("one"), user("two"), user("one"), user("three")]
const value = { first: "short", answer: [{ text: long }] }

const named = {
  said: (from: number, to: number) => conversation.slice(from, to),
  text: ([position, n]: readonly [number, number]) => position === 7 ? longTexts(value)[n] : undefined
}
const references = () => {
  const made = new References(conversation)
  made.note(7, longTexts(value))
  return made
}

describe("references", () => {
  it("name ranges of the conversation and long texts", () => {
    const json = {
      content: [{ role: "system", content: "Be kind" }, ...conversation.slice(0, 3), user("four")],
      again: long
    }
    const packed = references().pack(json)
    assert.deepEqual(packed, {
      content: [{ role: "system", content: "Be kind" }, { "~said": [0, 3] }, user("four")],
      again: { "~text": [7, 0] }
    })
    assert.deepEqual(unpack(packed, named), json)
  })

  it("differ from objects of a program that look like them", () => {
    const deep = (levels: number): Json => levels === 0 ? long : [deep(levels - 1)]
    for (
      const json of [
        { "~text": [7, 0] },
        { list: [{ "~said": [0, 2] }, { "~~": { "~~": long } }, { "~text": "x" }, { "~said": null }] },
        { "~~": [long, { "~text": [1, 2], more: true }] },
        JSON.parse(`{"__proto__": {"~said": [0, 1]}, "constructor": "x"}`) as Json,
        deep(100),
        [null, true, 1.5, "", {}, []]
      ]
    ) {
      assert.strictEqual(JSON.stringify(unpack(references().pack(json), named)), JSON.stringify(json))
    }
  })

  it("find the conversation's end behind instructions, not in another one", () => {
    const made = references()
    const system = { role: "system", content: "Be kind" }
    assert.strictEqual(made.endIn([system, ...conversation, user("four")]), 5)
    assert.strictEqual(made.endIn([...conversation.slice(1), user("four")]), undefined)
    assert.strictEqual(made.endIn([]), undefined)
    assert.strictEqual(new References([]).endIn([system]), 0)
  })
})

describe("hashes of conversations", () => {
  it.effect("are the same by each implementation, and depend on all texts before", () =>
    Effect.gen(function*() {
      const texts = ["a", "é\ud83d\ude00", long]
      const own = yield* chainedHashes("seed", texts)
      const { subtle } = globalThis.crypto
      const other = { subtle, getRandomValues: () => new Uint8Array(), randomUUID: () => "" } as never
      assert.deepEqual(yield* Effect.provideService(chainedHashes("seed", texts), WebCrypto.WebCrypto, other), own)
      assert.notStrictEqual((yield* chainedHashes("other", texts))[2], own[2])
      assert.notStrictEqual((yield* chainedHashes("seed", ["b", ...texts.slice(1)]))[2], own[2])
      assert.deepEqual(yield* chainedHashes(own[0]!, texts.slice(1)), own.slice(1))
    }))
})
