/**
 * Repairs at their edges, in tables: start and end of an object, meaning of a backslash, equal values of another type.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Recovery } from "@recourse/core"
import { JsonRepair } from "@recourse/json-repair"

type Issue = Recovery.FixRequest["issues"][number]

const request = (text: string, more: Partial<Recovery.FixRequest>): Recovery.FixRequest => ({
  tool: "t",
  effects: "read",
  arguments: text,
  jsonSchema: {},
  code: "invalid_arguments",
  issues: [],
  fix: 1,
  error: undefined as never,
  ...more
})
const syntax: Issue = { path: [], expected: "", problem: "syntax" }
const answerOf = (answered: string | Recovery.FixDeclined): unknown =>
  typeof answered === "string" ? JSON.parse(answered) : "declined"
const repaired = (text: string, issues: ReadonlyArray<Issue> = [syntax]) =>
  Effect.runSync(Effect.map(JsonRepair.fixer().run(request(text, { issues })), answerOf))

describe("an object in a text", () => {
  const fence = "```"
  const placeholders = (count: number) => `For ${"{x} ".repeat(count)}{"a":1}.`
  const cases: ReadonlyArray<readonly [text: string, value: unknown]> = [
    ["  {\"a\":1,}  ", { a: 1 }],
    ["Here: {\"a\":\"} {\"} done.", { a: "} {" }],
    ["Here: {\"a\":\"\\\"}\"} done.", { a: "\"}" }],
    ["Here: {\"a\":\"\\\\\"} done {\"no", { a: "\\" }],
    ["{\"a\":1} and {b", { a: 1 }],
    ["{\"a\":1}{", { a: 1 }],
    ["Between {braces} and {\"a\":{\"b\":{}}}!", { a: { b: {} } }],
    [placeholders(19), { a: 1 }],
    [`${fence}\n[1]\n${fence}\nThen {"a":1}.`, { a: 1 }],
    [`${fence}json\n  {"a":1}  \n${fence}`, { a: 1 }],
    [`${fence}js\n{"a":1}\n${fence}\n${fence}\nfirst {"b":1}\n${fence}`, { a: 1 }],
    ["Well: {\"a\":1", { a: 1 }],
    ["x {\"a\":1,} y", { a: 1 }],
    ["}{\"a\":1}", { a: 1 }],
    ["No braces", "declined"],
    ["}", "declined"],
    ["", "declined"],
    ["{\"a\":1} {\"a\":2} x", "declined"]
  ]
  for (const [text, value] of cases) {
    it(`of ${text.slice(0, 40)}`, () => assert.deepStrictEqual(repaired(text), value))
  }

  it("does not look for an object behind twenty braces", () =>
    assert.notDeepEqual(repaired(placeholders(20)), { a: 1 }))

  it("repairs an object only if the syntax is one of the issues", () => {
    const missing: Issue = { path: ["a"], expected: "", problem: "missing" }
    assert.deepStrictEqual(repaired("{a: 1}", [missing, syntax]), { a: 1 })
    assert.strictEqual(repaired("{a: 1}", [missing]), "declined")
    assert.strictEqual(repaired("{a: 1}", []), "declined")
  })
})

describe("a backslash", () => {
  const cases: ReadonlyArray<readonly [content: string, value: string | undefined]> = [
    [String.raw`C:\temp`, String.raw`C:\temp`],
    [String.raw`c:\Users\new`, String.raw`c:\Users\new`],
    [String.raw`\\host-1.x\temp`, String.raw`\\host-1.x\temp`],
    // Only at the beginning of a text it is surely a path.
    [String.raw`see C:\temp`, "see C:\temp"],
    [String.raw`^\d\\x`, String.raw`^\d\x`],
    [String.raw`\d\"x\"`, String.raw`\d"x"`],
    [String.raw`\d\u00e9`, String.raw`\d\u00e9`],
    [String.raw`\u00ex`, String.raw`\u00ex`],
    [String.raw`\u00E9\t\/`, "é\t/"],
    ["a\\\nb", "a\nb"],
    ["a\\\r\nb", "a\\\r\nb"],
    ["plain", "plain"],
    [String.raw`\w\t`, undefined],
    [String.raw`\t\w`, undefined]
  ]
  for (const [content, value] of cases) {
    it(`in ${content}`, () =>
      assert.deepStrictEqual(repaired(`{"p":"${content}",}`), value === undefined ? "declined" : { p: value }))
  }

  it("in a cut-off text, and next to texts without any", () => {
    assert.deepStrictEqual(repaired(String.raw`{"a":"x","p":"C:\temp\new`), { a: "x", p: String.raw`C:\temp\new` })
    assert.deepStrictEqual(repaired(String.raw`{"a":"x\ty","p":"\d"}`), { a: "x\ty", p: String.raw`\d` })
  })
})

describe("a value in another type", () => {
  const jsonSchema = {
    type: "object",
    properties: {
      s: { type: "string" },
      n: { type: "number" },
      i: { type: "integer" },
      b: { type: "boolean" },
      either: { anyOf: [{ type: "number" }, { type: "boolean" }] },
      any: { type: ["number", "string"] },
      untyped: {},
      choice: { type: "string", enum: ["1"] },
      constant: { type: "string", const: "1" },
      ref: { $ref: "#/$defs/Id" },
      path: { $ref: "#/$defs/a~1b~0c" },
      elsewhere: { $ref: "https://x.example/#/$defs/Id" },
      odd: { $ref: 7, type: "string" },
      loop: { $ref: "#/$defs/loop" },
      all: { allOf: [{ $ref: "#/$defs/Id" }] },
      one: { oneOf: [{ type: "string" }, null, { type: "null" }] },
      noList: { anyOf: { type: "string" }, type: "string" },
      untypedList: { items: { type: "string" } },
      list: { type: "array", items: { type: "string" } },
      lists: { type: ["array", "null"], items: { type: "array", items: { type: "integer" } } },
      map: { type: "object", additionalProperties: { type: "integer" } },
      digits: { type: "object", properties: { 0: { type: "string" } } },
      deep: { type: "object", properties: { s: { type: "string" } } }
    },
    $defs: {
      Id: { type: "string" },
      "a/b~c": { type: "integer" },
      loop: { anyOf: [{ $ref: "#/$defs/loop" }, { type: "string" }] }
    }
  } as never

  const coerced = (value: unknown, ...paths: ReadonlyArray<ReadonlyArray<string | number>>) =>
    Effect.runSync(Effect.map(
      JsonRepair.coercer().run(request(typeof value === "string" ? value : JSON.stringify(value), {
        jsonSchema,
        issues: paths.map((path) => ({ path, expected: "", problem: "invalid" }))
      })),
      answerOf
    ))

  const cases: ReadonlyArray<readonly [field: string, value: unknown, expected: unknown]> = [
    ["s", 42, "42"],
    ["s", -1.5, "-1.5"],
    ["s", 2 ** 53, undefined],
    ["s", 2 ** 53 - 1, "9007199254740991"],
    ["s", false, "false"],
    ["s", null, undefined],
    ["s", [1], undefined],
    ["s", {}, undefined],
    ["s", "x", undefined],
    ...["0", "7", "-7", "12", "1.5", "12.25", "1e3", "1E+3", "1e12", "1.0", " 7\n", "9007199254740991"].map((text) =>
      ["n", text, Number(text)] as const
    ),
    // Not all of it would be kept, or it is written in no way of JSON.
    ...[
      "01",
      "+1",
      ".5",
      "1.",
      "1e",
      "1e400",
      "0.10",
      "1e-3",
      "9007199254740993",
      "0x10",
      "1 2",
      "x1",
      "1x",
      "1,5",
      "NaN",
      "",
      "-"
    ]
      .map((text) => ["n", text, undefined] as const),
    ["n", true, undefined],
    ["n", null, undefined],
    ["i", "7", 7],
    ["i", "7.0", 7],
    ["i", "7.5", undefined],
    ["b", "true", true],
    ["b", " false ", false],
    ["b", "7", undefined],
    ["b", "True", undefined],
    ["b", 1, undefined],
    ["either", "7", 7],
    ["either", "true", true],
    ["either", "x", undefined],
    ["any", true, undefined],
    ["any", "7", undefined],
    ["any", "true", undefined],
    ["untyped", 7, undefined],
    ["untyped", "7", undefined],
    ["choice", 1, undefined],
    ["constant", 1, undefined],
    ["ref", 7, "7"],
    ["path", "7", 7],
    ["elsewhere", 7, undefined],
    ["odd", 7, "7"],
    ["loop", 7, "7"],
    ["all", 7, "7"],
    ["one", 7, undefined],
    ["noList", 7, "7"],
    ["nowhere", 7, undefined]
  ]
  for (const [field, value, expected] of cases) {
    it(`${JSON.stringify(value)} for "${field}" is ${expected === undefined ? "declined" : JSON.stringify(expected)}`, () =>
      assert.deepStrictEqual(
        coerced({ [field]: value, kept: [1] }, [field]),
        expected === undefined ? "declined" : { [field]: expected, kept: [1] }
      ))
  }

  it("within lists, maps and objects, at their own places alone", () => {
    const places: ReadonlyArray<readonly [value: unknown, path: ReadonlyArray<string | number>, expected: unknown]> = [
      [{ list: ["a", 2] }, ["list", 1], { list: ["a", "2"] }],
      [{ list: ["a", 2] }, ["list", "1"], { list: ["a", "2"] }],
      [{ list: Array(12).fill(1) }, ["list", "10"], { list: [...Array(10).fill(1), "1", 1] }],
      [{ lists: [[1], ["2"]] }, ["lists", 1, 0], { lists: [[1], [2]] }],
      [{ list: ["a"] }, ["list", 1], "declined"],
      [{ list: [null, "a"] }, ["list", 0], "declined"],
      [{ untypedList: [7] }, ["untypedList", 0], { untypedList: ["7"] }],
      [{ list: ["a"] }, ["list", "length"], "declined"],
      [{ map: { a: "1", b: "x" } }, ["map", "a"], { map: { a: 1, b: "x" } }],
      [{ digits: { 0: 7 } }, ["digits", "0"], { digits: { 0: "7" } }],
      [{ digits: { 1: 7 } }, ["digits", "1"], "declined"],
      [{ deep: { s: 1, t: 2 } }, ["deep", "s"], { deep: { s: "1", t: 2 } }],
      [{ deep: { s: 1 } }, ["deep", "t"], "declined"],
      [{ deep: { s: 1 } }, ["deep", "s", "t"], "declined"],
      [{ deep: null }, ["deep", "s"], "declined"],
      [{ s: 1 }, ["toString"], "declined"],
      [{ s: 1 }, [], "declined"]
    ]
    for (const [value, path, expected] of places) assert.deepStrictEqual(coerced(value, path), expected, path.join("/"))
  })

  it("converts all faults or none; invalid JSON is another matter", () => {
    assert.deepStrictEqual(coerced({ s: 1, n: "2" }, ["s"], ["n"]), { s: "1", n: 2 })
    assert.strictEqual(coerced({ s: 1, n: "x" }, ["s"], ["n"]), "declined")
    assert.strictEqual(coerced({ n: "x", s: 1 }, ["n"], ["s"]), "declined")
    assert.strictEqual(coerced({ s: 1 }), "declined")
    assert.strictEqual(coerced("{s: 1}", ["s"]), "declined")
  })
})
