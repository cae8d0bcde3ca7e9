/** Structured answers while they are written: the known part at each moment is a beginning of the final value. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { Agent, type AgentEvent } from "@recourse/core"

const Output = Schema.Record(Schema.String, Schema.Json)

/** The known part when the model has written this much; `undefined` if there is none. */
const known = (text: string): unknown => {
  const event = { _tag: "TextDelta", delta: text } as AgentEvent.AgentEvent
  return Effect.runSync(Stream.runCollect(Stream.make(event).pipe(Agent.partialOutput(Output)))).at(-1)
}

const nested = (levels: number): unknown => levels === 0 ? undefined : levels === 1 ? [] : [nested(levels - 1)]

describe("the known part of an answer", () => {
  it.each<readonly [text: string, value: unknown]>([
    ["", undefined],
    ["Here", undefined],
    ["{", {}],
    ["Here: {", {}],
    ["{}", {}],
    ["{\"a", {}],
    ["{\"a\"", {}],
    ["{\"a\":", {}],
    ["{\"a\": ", {}],
    ["{\"a\":1", {}],
    ["{\"a\":1 ", { a: 1 }],
    ["{\"a\":1,", { a: 1 }],
    ["{\"a\":1,\"b", { a: 1 }],
    ["{\"a\":-1.5e+3}", { a: -1500 }],
    ["{\"a\":tru", {}],
    ["{\"a\":true}", { a: true }],
    ["{\"a\":null,", { a: null }],
    ["{\"a\":\"", { a: "" }],
    ["{\"a\":\"x", { a: "x" }],
    ["{\"a\":\"x\\", { a: "x" }],
    ["{\"a\":\"x\\\"", { a: "x\"" }],
    ["{\"a\":\"x\\\\", { a: "x\\" }],
    ["{\"a\":\"x\\n", { a: "x\n" }],
    ["{\"a\":\"x\\u", { a: "x" }],
    ["{\"a\":\"x\\u00e", { a: "x" }],
    ["{\"a\":\"x\\u00e4", { a: "xä" }],
    ["{\"a\":\"x\\ud83d", { a: "x" }],
    ["{\"a\":\"x\\uD83D\\ude0", { a: "x" }],
    ["{\"a\":\"x\\ud83d\\ude00", { a: "x\u{1F600}" }],
    ["{\"a\":\"x\ud83d", { a: "x" }],
    ["{\"a\":\"x\ud83d\ude00", { a: "x\u{1F600}" }],
    ["{\"a\":\"x\\ud7ff", { a: "x\ud7ff" }],
    ["{\"a\":\"}\",\"b\":\"]\"}", { a: "}", b: "]" }],
    ["{\"a\":[", { a: [] }],
    ["{\"a\":[1", { a: [] }],
    ["{\"a\":[1,2", { a: [1] }],
    ["{\"a\":[1,2]", { a: [1, 2] }],
    ["{\"a\":[\"x", { a: ["x"] }],
    ["{\"a\":[[],{}],", { a: [[], {}] }],
    ["{\"a\":[1,{\"b\":\"c", { a: [1, { b: "c" }] }],
    ["{\"a\":{\"b\":1},\"c\":2 ", { a: { b: 1 }, c: 2 }],
    ["{\n \"a\" : [ 1 , 2 ] ,\n \"b\" : { \"c\" : 3 } }\n", { a: [1, 2], b: { c: 3 } }],
    ["{\"a\":1} and {\"b\":2}", { a: 1 }],
    // A text that is no JSON from some position on: the part before.
    ["{a:1}", {}],
    ["{\"a\" 1}", {}],
    ["{\"a\" 12}", {}],
    ["{\"a\":}", {}],
    ["{\"a\":1;\"b\":2}", { a: 1 }],
    ["{\"a\":[1;2]}", { a: [1] }],
    ["{\"a\":[,]}", { a: [] }],
    // Unreadable texts.
    ["{\"a\":nope }", undefined],
    ["{\"a\":\"\\x\"}", undefined]
  ])("%j: %j", (text, value) => assert.deepStrictEqual(known(text), value))

  it("reaches two hundred levels deep, and no further", () => {
    assert.deepStrictEqual(known(`{"a":${"[".repeat(199)}`), { a: nested(199) })
    assert.deepStrictEqual(known(`{"a":${"[".repeat(5_000)}`), { a: nested(199) })
    assert.deepStrictEqual(known(`{"a":${"{\"b\":".repeat(5_000)}`) === undefined, false)
  })

  it("a known part has a key of its own, under any name", () => {
    const value = known("{\"__proto__\":{\"isAdmin\":true}}") as object
    assert.deepStrictEqual(Object.keys(value), ["__proto__"])
    assert.isUndefined((value as { readonly isAdmin?: boolean }).isAdmin)
  })

  const isBeginning = (part: unknown, whole: unknown): boolean => {
    if (typeof part === "string") return typeof whole === "string" && whole.startsWith(part)
    if (typeof part !== "object" || part === null) return part === whole
    if (typeof whole !== "object" || whole === null || Array.isArray(part) !== Array.isArray(whole)) return false
    return Object.entries(part).every(([key, item]) =>
      Object.hasOwn(whole, key) && isBeginning(item, (whole as Record<string, unknown>)[key])
    )
  }

  it.each<unknown>([
    {},
    { a: "x\"y\\z\n\u{1F600}ä", b: [1, -2.5, true, false, null, []], "c d": { e: { f: "}" } } },
    { list: [{ a: "[" }, { a: "]" }, [["{"]], ""], "": 0 },
    { escaped: "\u0000\u2028" }
  ])("grows to %j, and never takes back what was told", (whole) => {
    const texts = [JSON.stringify(whole), JSON.stringify(whole, undefined, 2)]
    for (
      const text of [
        ...texts,
        ...texts.map((text) =>
          text.replaceAll(/[^\x20-\x7e\n]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
        )
      ]
    ) {
      let last: unknown = {}
      for (let end = 1; end <= text.length; end++) {
        const value = known(text.slice(0, end))
        assert.isTrue(isBeginning(value, whole), text.slice(0, end))
        assert.isTrue(isBeginning(last, value), text.slice(0, end))
        last = value
      }
      assert.deepStrictEqual(last, whole)
    }
  })
})
