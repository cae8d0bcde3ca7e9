/**
 * JSON that models write as text: the arguments of a call, and the progress of a text, for any division into pieces.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { JsonText } from "@recourse/core"

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)

describe("arguments of a call", () => {
  it.each<readonly [text: string, value: unknown]>([
    ["", {}],
    [" \n", {}],
    ["null", {}],
    ["\"\"", {}],
    ["[]", {}],
    ["{}", {}],
    ["{\"a\":1}", { a: 1 }],
    ["{\"a\":\"b:c\",\"d\":[{\"e\":null}]}", { a: "b:c", d: [{ e: null }] }],
    ["{\"a\":\"\\\":\",\"b\":1}", { a: "\":", b: 1 }],
    ["{\"a\":\"\\\":\"}", { a: "\":" }],
    [`[${"{},".repeat(300)}[]]`, [...Array.from({ length: 300 }, () => ({})), []]],
    [`[${"[],".repeat(300)}{}]`, [...Array.from({ length: 300 }, () => []), {}]],
    ["[1]", [1]],
    ["5", 5],
    ["false", false],
    [JSON.stringify("{\"a\":1}"), { a: 1 }],
    [` ${JSON.stringify("\n{\"a\":\"{}\"}")}`, { a: "{}" }],
    [nested(200), JSON.parse(nested(200))]
  ])("%s are a value", (text, value) => assert.deepStrictEqual(JsonText.argumentsOf(text), value))

  it.each([
    "\"a\"",
    // No object, a loss within the inner text, and a text that is encoded three times.
    JSON.stringify("[1]"),
    JSON.stringify("{\"a\":1,\"a\":2}"),
    JSON.stringify(JSON.stringify("{\"a\":1}")),
    "{\"a\":1",
    "pay 5",
    "{\"a\":1,\"a\":2}",
    "{\"a\":{\"b\":1,\"b\":1}}",
    "{\"__proto__\":{\"isAdmin\":true}}",
    nested(201),
    `${"[ ".repeat(201)}${"]".repeat(201)}`,
    `[${nested(200)},[]]`,
    `${"{\"a\":".repeat(201)}1${"}".repeat(201)}`
  ])("%s stay a text, as the value would lose something", (text) => {
    assert.strictEqual(JsonText.argumentsOf(text), text)
  })
})

describe("the value of a JSON text", () => {
  it.each<readonly [text: string, value: unknown]>([
    ["[]", []],
    [" [ ] ", []],
    ["\"\"", ""],
    ["\"a:b\"", "a:b"],
    ["null", null],
    ["{}", {}],
    ["", undefined],
    ["{\"a\":1", undefined],
    ["{\"a\":1,\"a\":2}", undefined],
    ["[9007199254740993]", undefined],
    ["{\"__proto__\":{}}", undefined],
    [nested(201), undefined]
  ])("%s is exact, or missing", (text, value) => assert.deepStrictEqual(JsonText.parseLossless(text), value))
})

describe("a text that grows", () => {
  const texts: ReadonlyArray<readonly [text: string, progress: JsonText.Progress]> = [
    ["", "bare"],
    [" ", "bare"],
    ["12", "bare"],
    ["nul", "bare"],
    ["{", "open"],
    ["{\"a\"", "open"],
    ["{\"a\":\"}", "open"],
    ["{\"a\":[1]", "open"],
    ["{\"a\":{\"b\":2}", "open"],
    ["{\"a\":1}", "ended"],
    ["{\"a\":1}\n{", "ended"],
    ["[[1]", "open"],
    ["[\"]\"", "open"],
    ["[[1]]", "ended"],
    ["\"a", "open"],
    ["\"{", "open"],
    ["\"a\\\"", "open"],
    ["\"a\\\\\"", "ended"],
    ["\"a\"", "ended"],
    ["\"\"", "ended"],
    ["]", "ended"]
  ]

  it.each(texts)("%s is %s, however it is cut into pieces", (text, progress) => {
    for (let cut = 0; cut <= text.length; cut++) {
      const follower = JsonText.follow()
      follower.push(text.slice(0, cut))
      follower.push(text.slice(cut))
      assert.strictEqual(follower.progress(), progress, `cut at ${cut}`)
    }
  })

  it.effect.each<readonly [text: string, isCutOff: boolean]>([
    ["", true],
    [" ", true],
    ["[", true],
    [" [1", true],
    ["{", true],
    ["{ ", true],
    ["{\"a", true],
    ["{ \"a\": [1", true],
    ["{\"a\":1}", false],
    ["{\"a\":1} {", false],
    ["[1]", false],
    ["{a", false],
    ["{} [", false],
    ["I call [", false],
    ["\"a", false],
    ["12", false]
  ])(
    "%s breaks off before its end: %s",
    ([text, isCutOff]) => Effect.sync(() => assert.strictEqual(JsonText.isCutOff(text), isCutOff))
  )
})
