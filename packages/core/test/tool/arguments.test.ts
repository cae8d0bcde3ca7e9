import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema, Stream } from "effect"
import { Agent, type ErrorProjection, Recovery, Redaction, Tool, ToolCall, type ToolError } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { collect, lastResults } from "../support/kit.ts"

type Failure = ErrorProjection.ToolFailure

/** The issues of a call by hand; `undefined` if the arguments fit. */
const issuesOf = (
  parameters: Schema.Top,
  args: unknown,
  options?: { readonly effects?: Tool.Effects; readonly onUnknownKeys?: Tool.OnUnknownKeys }
) => {
  const tool = Tool.make("t", { parameters: parameters as Schema.Struct<{}>, ...options, execute: () => Effect.void })
  return tool.call.pipe(
    Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: args })),
    Effect.as<ReadonlyArray<ToolError.Issue>>([]),
    Effect.catchTag("InvalidArgs", ({ issues }) => Effect.succeed(issues))
  )
}

const letters = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index))

const said = (issues: ReadonlyArray<ToolError.Issue>) => issues.map(({ expected, path }) => [path.join("."), expected])

const Pay = Schema.Struct({ amount: Schema.Number, note: Schema.optionalKey(Schema.String) })

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
})

const agentOf = (tool: Tool.Any) =>
  Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard }, budget: { argumentSize: Infinity } })

/** The model's result of a call, and all emitted texts about it. */
const answerTo = (tool: Tool.Any, name: string, args: unknown) =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    return yield* Effect.gen(function*() {
      const exit = yield* Effect.exit(Stream.runDrain(agentOf(tool).stream("go")) as Effect.Effect<void>)
      assert.isTrue(Exit.isSuccess(exit), String(exit))
      const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      return { failure: lastResults(prompt)[0]!.result as Failure, events }
    }).pipe(
      Effect.provide(layer),
      Effect.provide(ScriptedModel.layer([ScriptedModel.call(name, args), ScriptedModel.text("ok")]))
    )
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

describe("the model's text about its own arguments", () => {
  const sizeOf = (failure: Failure) => JSON.stringify(failure).length
  const List = Tool.make("list", {
    parameters: Schema.Struct({ items: Schema.Array(Schema.Number) }),
    effects: "read",
    execute: () => Effect.void
  })

  it.effect("ten issues, and how many more there are", () =>
    Effect.gen(function*() {
      // The object and its field are two of 10,000 values.
      for (const count of [1_000, 9_998, 9_999, 100_000]) {
        const args = { items: Array.from({ length: count }, () => "x") }
        for (const form of [args, JSON.stringify(args)]) {
          const { failure } = yield* answerTo(List, "list", form)
          assert.isBelow(sizeOf(failure), 3_000)
          assert.strictEqual(failure.issues?.length, count < 9_999 ? 11 : 1)
          if (count === 1_000) assert.match(failure.message_for_model, /; and 990 more$/)
        }
      }
    }))

  it.effect.each<readonly [char: string, isPair: boolean]>([
    ["\u{10000}", true],
    ["\u{1F600}", true],
    ["\u{10FFFF}", true],
    ["\ud7ff\ud7ff", false],
    ["\uff01\uff01", false],
    ["zz", false]
  ])("a key is cut behind a whole character: %s", ([char, isPair]) =>
    Effect.gen(function*() {
      const parameters = Schema.Record(Schema.String, Schema.Number)
      const before = "x".repeat(63)
      const cut = yield* issuesOf(parameters, { [`${before}${char}`]: "no" })
      assert.deepStrictEqual(cut.map(({ path }) => path), [[`${before}${isPair ? "" : char[0]}…`]])
      const whole = yield* issuesOf(parameters, { [`x${before}`]: "no" })
      assert.deepStrictEqual(whole.map(({ path }) => path), [[`x${before}`]])
    }))

  it.effect("a long enumeration, a long key, a long name are cut", () =>
    Effect.gen(function*() {
      const values = Array.from({ length: 500 }, (_, index) => `a rather long value number ${index}`)
      const Enum = Tool.make("choose", {
        parameters: Schema.Struct({ value: Schema.Literals(values), by: Schema.Record(Schema.String, Schema.Number) }),
        effects: "read",
        execute: () => Effect.void
      })
      const { failure } = yield* answerTo(Enum, "choose", { value: "x", by: { ["k".repeat(1_000_000)]: "x" } })
      assert.isBelow(sizeOf(failure), 3_000)
      assert.match(failure.message_for_model, /"a rather long value number 0"/)
      const unknown = yield* answerTo(Enum, "n".repeat(1_000_000), {})
      assert.strictEqual(unknown.failure.code, "tool_not_found")
      assert.isBelow(sizeOf(unknown.failure), 1_000)
    }))

  it.effect("a missing field: asks the user; for a read, calls again", () =>
    Effect.gen(function*() {
      const tool = Tool.make("pay", { parameters: Pay, effects: "write", execute: () => Effect.void })
      const { failure } = yield* answerTo(tool, "pay", {})
      assert.strictEqual(failure.code, "missing_required_field")
      assert.match(failure.instruction ?? "", /Ask the user/)
      assert.strictEqual(
        (yield* answerTo(tool, "pay", { amount: "x" })).failure.instruction,
        "Call again with corrected arguments."
      )
      for (const effects of ["idempotent", undefined] as const) {
        const other = Tool.make("pay", { parameters: Pay, effects, execute: () => Effect.void })
        assert.match((yield* answerTo(other, "pay", {})).failure.instruction ?? "", /Ask the user/)
      }
      const read = Tool.make("find", { parameters: Pay, effects: "read", execute: () => Effect.void })
      const told = (yield* answerTo(read, "find", {})).failure
      assert.strictEqual(told.code, "missing_required_field")
      assert.strictEqual(told.instruction, "Call again with corrected arguments.")
    }))

  it.effect("never redacts names and expectations of a schema, also in events", () =>
    Effect.gen(function*() {
      const tool = Tool.make("login", {
        parameters: Schema.Struct({
          password: Schema.String.check(Schema.isMinLength(30)),
          max_tokens: Schema.Number,
          path: Schema.Literal("/etc/hosts"),
          home: Schema.Literal("/home/ada/.ssh/id_rsa")
        }),
        effects: "read",
        execute: () => Effect.void
      })
      const { events, failure } = yield* answerTo(tool, "login", {
        password: "x",
        max_tokens: "y",
        path: "z",
        home: "z"
      })
      assert.strictEqual(
        failure.message_for_model,
        "The arguments do not fit: password: expected a value with a length of at least 30; max_tokens: expected number; " +
          "path: expected \"/etc/hosts\"; home: expected \"/home/ada/.ssh/id_rsa\""
      )
      assert.notInclude(JSON.stringify(events), "[redacted")
      assert.notStrictEqual(Redaction.make().text(failure.message_for_model), failure.message_for_model)
    }))

  it.effect("refuses prototype keys and over 200 levels in calls by hand", () =>
    Effect.gen(function*() {
      const nested = (levels: number): unknown => levels === 0 ? null : [nested(levels - 1)]
      const parameters = Schema.Struct({ a: Schema.Json })
      assert.deepStrictEqual(yield* issuesOf(parameters, { a: nested(199) }), [])
      const tooDeep = "expected at most 200 arrays and objects within each other"
      assert.deepStrictEqual(said(yield* issuesOf(parameters, { a: nested(200) })), [["", tooDeep]])
      for (const text of [`{"__proto__":1}`, `{"a":[{"__proto__":{}}]}`]) {
        assert.deepStrictEqual(said(yield* issuesOf(parameters, JSON.parse(text))), [
          ["", "expected no key \"__proto__\", and no \"prototype\" within \"constructor\""]
        ])
      }
    }))

  it.effect("reports errors without library frames; later errors have their own", () =>
    Effect.gen(function*() {
      const call = Effect.provideService(
        List.call,
        ToolCall.ToolCall,
        ToolCall.make({ id: "c1", arguments: { items: 1 } })
      )
      const error = yield* Effect.flip(call)
      assert.match(String(error.stack), /^InvalidArgs/)
      assert.notMatch(String(error.stack), /\n +at /)
      assert.match(String(new Error("later").stack), /\n +at /)
    }))

  it.effect("deep and odd input is InvalidArgs, never a defect", () =>
    Effect.gen(function*() {
      let deep: unknown = 1
      for (let i = 0; i < 20_000; i++) deep = i % 2 === 0 ? [deep] : { a: deep }
      const odd: Array<unknown> = [
        "[".repeat(5_000) + "]".repeat(5_000),
        `{"items":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
        `{"items":${"[".repeat(100_000)}`,
        "{\"a\":".repeat(20_000),
        { items: deep },
        JSON.parse("{\"__proto__\":{\"items\":[1]}}"),
        "{\"constructor\":{\"prototype\":{}}}",
        "null",
        "\"{}\"",
        "\ud800",
        ""
      ]
      for (const args of odd) {
        const { failure } = yield* answerTo(List, "list", args)
        assert.include(["invalid_arguments", "missing_required_field"], failure.code, String(args).slice(0, 40))
      }
    }))

  it.effect(
    "checks long arguments in time that grows with their length",
    () =>
      Effect.gen(function*() {
        const texts: Record<string, (n: number) => string> = {
          items: (n) => `{"items":[${"\"x\",".repeat(n / 4)}"x"]}`,
          "items without an end": (n) => `{"items":[${"\"x\",".repeat(n / 4)}"x"]`,
          "a long note": (n) => `{"items":[1],"note":"${"x".repeat(n)}"}`,
          "quotes without an end": (n) => `{"items":"${"\\\"".repeat(n / 2)}`,
          "unknown fields": (n) => `{${Array.from({ length: n / 14 }, (_, index) => `"k${index}":1`).join(",")}}`,
          "braces without an end": (n) => "{".repeat(n),
          "deep arrays": (n) => `{"items":${"[".repeat(n / 2)}${"]".repeat(n / 2)}}`
        }
        const timeOf = Effect.fnUntraced(function*(text: string) {
          const before = process.threadCpuUsage()
          const issues = yield* issuesOf(List.parameters, text)
          const { system, user } = process.threadCpuUsage(before)
          assert.isAtMost(issues.length, 11)
          return user + system
        })
        for (const [name, text] of Object.entries(texts)) {
          const [short, long] = [text(2_000_000), text(10_000_000)]
          // Noise of the machine, and pauses of its garbage collector, only add to a time.
          let [least, limit] = [Infinity, 0]
          for (let i = 0; i < 4 && least > limit; i++) {
            // Five times as long: linear is 5, quadratic 25.
            limit = Math.max(limit, 100_000, 12 * (yield* timeOf(short)))
            least = Math.min(least, yield* timeOf(long))
          }
          assert.isAtMost(least, limit, name)
        }
      }),
    60_000
  )
})
