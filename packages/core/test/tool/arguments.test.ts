import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { Tool, ToolCall, type ToolError } from "@recourse/core"
import { answerTo, issuesOf, Pay, said } from "../support/argumentIssues.ts"

const letters = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index))

describe("the schema: to the point", () => {
  class Node
    extends Schema.Class<Node>("Node")({ children: Schema.Array(Schema.suspend((): Schema.Codec<Node> => Node)) })
  {}

  const cases: Record<
    string,
    readonly [schema: Schema.Top, args: unknown, said: ReadonlyArray<readonly [string, string]>]
  > = {
    "either-or": [
      Schema.Struct({
        to: Schema.Union([
          Schema.Struct({ mail: Schema.String }),
          Schema.Struct({ phone: Schema.String, country: Schema.String })
        ])
      }),
      { to: {} },
      [["to", "expected one of: (mail: required) or (phone: required, country: required)"]]
    ],
    "either-or, where the tag says which": [
      Schema.Struct({
        to: Schema.Union([
          Schema.TaggedStruct("Mail", { mail: Schema.String }),
          Schema.TaggedStruct("Phone", { phone: Schema.String })
        ])
      }),
      { to: { _tag: "Mail" } },
      [["to.mail", "required"]]
    ],
    "the transformation's own words": [
      Schema.Struct({ at: Schema.DateTimeUtcFromString, url: Schema.URLFromString }),
      { at: "soon", url: "x" },
      [["at", "expected a valid UTC DateTime string"], ["url", "expected a valid URL string"]]
    ],
    "the author's own words": [
      Schema.Struct({
        a: Schema.String.check(
          Schema.makeFilter((s: string) => s.length > 3 ? undefined : "write at least four letters")
        ),
        b: Schema.String.check(Schema.makeFilter((s: string) => s.length > 3, { message: "b is too short" })),
        c: Schema.String.annotate({ message: "c is the name" })
      }),
      { a: "x", b: "y", c: 1 },
      [["a", "write at least four letters"], ["b", "b is too short"], ["c", "c is the name"]]
    ],
    "the author's own words for what is read from a text": [
      Schema.Struct({ n: Schema.FiniteFromString.annotate({ message: "n is a number" }) }),
      { n: "x" },
      [["n", "n is a number"]]
    ],
    "the author's own words, also where the tag says which is meant": [
      Schema.Struct({
        to: Schema.Union([
          Schema.TaggedStruct("Mail", { mail: Schema.String }),
          Schema.TaggedStruct("Phone", { phone: Schema.String })
        ]).pipe(Schema.decodeTo(Schema.Any)).annotate({ message: "to says how" })
      }),
      { to: { _tag: "Mail", mail: 1 } },
      [["to", "to says how"]]
    ],
    "no words that quote a number of any kind": [
      Schema.Struct({ n: Schema.BigInt.check(Schema.makeFilter((n) => `${n} is wrong`)) }),
      { n: "12345" },
      [["n", "expected a valid value"]]
    ],
    "words about a value with nothing in it": [
      Schema.Struct({ v: Schema.Any.check(Schema.makeFilter(() => "v is wrong")) }),
      { v: { a: undefined } },
      [["v", "v is wrong"]]
    ],
    "a number that is too large, and no integer that is none": [
      Schema.Struct({ n: Schema.Number.check(Schema.isLessThan(5)) }),
      { n: 2 ** 50 },
      [["n", "expected a value less than 5"]]
    ],
    "the first check of a group that fails": [
      Schema.Struct({
        a: Schema.String.check(
          Schema.makeFilterGroup([Schema.isMinLength(1), Schema.isMaxLength(2)], { message: "a is short" })
        )
      }),
      { a: "abc" },
      [["a", "expected a value with a length of at most 2"]]
    ],
    "a long enumeration that has a name": [
      Schema.Struct({ v: Schema.Literals(letters).annotate({ expected: "a letter" }) }),
      { v: "?" },
      [["v", "expected a letter"]]
    ],
    "a long enumeration with members that have words of their own": [
      Schema.Struct({
        v: Schema.Union([
          Schema.Literal("A").annotate({ message: "the first expected letter" }),
          ...letters.slice(1).map((letter) => Schema.Literal(letter))
        ])
      }),
      { v: "?" },
      [["v", `expected the first expected letter | ${letters.slice(1, 20).map((l) => `"${l}"`).join(" | ")} | 6 more`]]
    ],
    "words about a type as they are written": [
      Schema.Struct({ v: Schema.String.annotate({ message: "Expected is a text" }) }),
      { v: 1 },
      [["v", "Expected is a text"]]
    ],
    "ten of what could be meant": [
      Schema.Struct({
        to: Schema.Union(letters.slice(0, 12).map((letter) => Schema.Struct({ [letter]: Schema.String })))
      }),
      { to: {} },
      [["to", `expected one of: ${letters.slice(0, 10).map((letter) => `(${letter}: required)`).join(" or ")}`]]
    ],
    "an integer that is no number": [
      Schema.Struct({ id: Schema.Int, n: Schema.Int }),
      "{\"id\": 12345678901234567890, \"n\": 1.5}",
      [["id", "expected a number that keeps all its digits: this one has too many. Send it as a string"]]
    ]
  }

  for (const [name, [schema, args, expected]] of Object.entries(cases)) {
    it.effect(`the schema: ${name}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(said(yield* issuesOf(schema, args)), expected as never)
      }))
  }

  it.effect("lists ten issues and the common kind of the others", () =>
    Effect.gen(function*() {
      const wants = (count: number) =>
        Schema.Struct(Object.fromEntries(letters.slice(0, count).map((letter) => [letter, Schema.String])))
      const last = (problem: ToolError.Issue["problem"]) => ({ path: [], expected: "and 2 more", problem })
      const missing = letters.map((letter) => ({ path: [letter], expected: "required", problem: "missing" }))
      assert.deepStrictEqual<unknown>(yield* issuesOf(wants(10), {}), missing.slice(0, 10))
      assert.deepStrictEqual<unknown>(yield* issuesOf(wants(12), {}), [...missing.slice(0, 10), last("missing")])
      assert.deepStrictEqual<unknown>(yield* issuesOf(wants(12), { L: 1 }), [...missing.slice(0, 10), last("invalid")])
    }))

  it.effect("a path has numbers for places in lists, and thirty-two steps", () =>
    Effect.gen(function*() {
      const nested = (depth: number): unknown => ({ children: depth === 0 ? [1] : [nested(depth - 1)] })
      const [near] = yield* issuesOf(Node, nested(1))
      assert.deepStrictEqual(near!.path, ["children", 0, "children", 0])
      const [far] = yield* issuesOf(Node, nested(40))
      assert.deepStrictEqual(far!.path, Array.from({ length: 32 }, (_, index) => index % 2 === 0 ? "children" : 0))
    }))

  it.effect("a recursive schema accepts shallow values and refuses deep ones", () =>
    Effect.gen(function*() {
      const nested = (depth: number) => "{\"children\":[".repeat(depth) + "]}".repeat(depth)
      for (const form of [(text: string) => text, (text: string): unknown => JSON.parse(text)]) {
        assert.deepStrictEqual(yield* issuesOf(Node, form(nested(100))), [])
        assert.deepStrictEqual(said(yield* issuesOf(Node, form(nested(101)))), [[
          "",
          "expected at most 200 arrays and objects within each other"
        ]])
      }
    }))
})

describe("unknown keys", () => {
  it.effect("refuses unknown keys of writes, drops others, unless configured otherwise", () =>
    Effect.gen(function*() {
      const args = { amount: 1, dry_run: true }
      const refused = [{ path: ["dry_run"], expected: "no such field", problem: "unexpected" }]
      assert.deepStrictEqual(yield* issuesOf(Pay, args, { effects: "write" }), refused as never)
      assert.deepStrictEqual(yield* issuesOf(Pay, args, { effects: "write", onUnknownKeys: "drop" }), [])
      for (const effects of ["read", "idempotent"] as const) {
        assert.deepStrictEqual(yield* issuesOf(Pay, args, { effects }), [])
        assert.deepStrictEqual(yield* issuesOf(Pay, args, { effects, onUnknownKeys: "refuse" }), refused as never)
      }
      assert.deepStrictEqual(yield* issuesOf(Pay, args), [])
    }))

  it.effect("refuses or drops them as well if the tool has no parameters", () =>
    Effect.gen(function*() {
      const exitOf = (options: object) => {
        const now = Tool.make("now", { success: Schema.Json, execute: (given) => Effect.succeed(given), ...options })
        const call = ToolCall.make({ id: "c", arguments: { zone: "UTC" } })
        return Effect.exit(Effect.provideService(now.call, ToolCall.ToolCall, call))
      }
      assert.deepStrictEqual(yield* exitOf({ effects: "read" }), Exit.succeed({}))
      const refused = yield* exitOf({ effects: "write" })
      assert.include(String(refused), "zone: no such field")
    }))
})

describe("whatever the arguments are", () => {
  interface Tree {
    readonly a?: string | Tree
    readonly items?: ReadonlyArray<string>
    readonly extra?: Readonly<Record<string, number>>
  }
  const Tree = Schema.Struct({
    a: Schema.optionalKey(Schema.Union([Schema.String, Schema.suspend((): Schema.Codec<Tree> => Tree)])),
    items: Schema.optionalKey(Schema.Array(Schema.String.check(Schema.isMinLength(3)))),
    extra: Schema.optionalKey(Schema.Record(Schema.String, Schema.Int))
  })
  const names = ["__proto__", "constructor", "toString", "a", "é", "\ud800", "items", "0", "password", "x".repeat(300)]
  let seed = 5
  const next = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n
  const drawn = (depth: number): unknown => {
    switch (next(depth > 6 ? 5 : 8)) {
      case 0:
        return next(3) > 0
          ? "\ud83d\ude00\udc00\u0000\u202e"
          : JSON.stringify({ a: JSON.stringify({ password: "hunter2" }) })
      case 1:
        return next(1e9)
      case 2:
        return null
      case 3:
        return Infinity
      case 4:
        return -0
      case 5:
        return Array.from({ length: next(4) }, () => drawn(depth + 1))
      default: {
        const object = {}
        for (let i = next(4); i > 0; i--) {
          Object.defineProperty(object, names[next(names.length)]!, {
            value: drawn(depth + 1),
            enumerable: true,
            configurable: true
          })
        }
        return object
      }
    }
  }

  it.effect("continues the run with a small result for any arguments", () =>
    Effect.gen(function*() {
      const tools = (["read", "write"] as const).map((effects) =>
        Tool.make(`t_${effects}`, { parameters: Tree, effects, execute: () => Effect.void })
      )
      for (let i = 0; i < 500; i++) {
        const value = next(2) === 0 ? { a: drawn(0), items: [drawn(0)], extra: drawn(0) } : drawn(0)
        const text = next(2) === 0 ? undefined : JSON.stringify(value) ?? ""
        const args = text === undefined ? value : next(3) === 0 ? text.slice(0, next(40)) : text
        const tool = tools[next(2)]!
        const { failure } = yield* answerTo(tool, tool.name, args)
        assert.isBelow(JSON.stringify(failure).length, 8_000)
      }
    }), 60_000)
})

describe("arguments as text", () => {
  it("encodes values without a JSON form in calls by hand", () => {
    const cycle: Record<string, unknown> = {}
    cycle["itself"] = cycle
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      ["{\"n\": 1}", "{\"n\": 1}"],
      [{ n: 1 }, "{\"n\":1}"],
      [{ n: 12n, to: "Ada" }, "{\"n\":\"12\",\"to\":\"Ada\"}"],
      [undefined, "undefined"],
      [cycle, "[object Object]"]
    ]
    for (const [args, text] of cases) {
      assert.strictEqual(ToolCall.argumentsText(ToolCall.make({ id: "c1", arguments: args })), text)
    }
  })
})
