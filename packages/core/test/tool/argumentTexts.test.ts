/** The model's text about its own arguments. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Redaction, Tool, ToolCall } from "@recourse/core"
import { answerTo, type Failure, issuesOf, Pay, said } from "../support/argumentIssues.ts"

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
          const [short, long] = [text(1_000_000), text(5_000_000)]
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
