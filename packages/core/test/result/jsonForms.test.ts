/**
 * Values without a JSON form of their own: models write them by the JSON schema that they receive, and programs
 * directly.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { BigDecimal, Effect, HashMap, Option, Schema } from "effect"
import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"
import { lastResults } from "../support/kit.ts"

const { call, text } = ScriptedModel

interface Chain {
  readonly at: Date
  readonly next?: Chain
}
const Chain = Schema.Struct({
  at: Schema.Date,
  next: Schema.optionalKey(Schema.suspend((): Schema.Codec<Chain, unknown> => Chain as never))
})

const values: Readonly<Record<string, readonly [schema: Schema.Top, json: Schema.Json, value: unknown]>> = {
  "a date": [Schema.Date, "2026-11-23T00:00:00.000Z", new Date("2026-11-23")],
  "a bigint": [Schema.BigInt, "-12345678901234567890", -12345678901234567890n],
  "an option": [Schema.Option(Schema.Int), { _tag: "Some", value: 1 }, Option.some(1)],
  "no option": [Schema.Option(Schema.Date), { _tag: "None" }, Option.none()],
  "bytes": [Schema.Uint8Array, "AQID", new Uint8Array([1, 2, 3])],
  "a URL": [Schema.URL, "https://example.com/", new URL("https://example.com/")],
  "a big decimal": [Schema.BigDecimal, "1.5", BigDecimal.fromStringUnsafe("1.5")],
  "a map": [
    Schema.HashMap(Schema.String, Schema.Date),
    [["a", "1970-01-01T00:00:00.000Z"]],
    HashMap.make(["a", new Date(0)])
  ],
  "one within one of its kind": [
    Chain,
    { at: "1970-01-01T00:00:00.000Z", next: { at: "1970-01-01T00:00:00.000Z" } },
    { at: new Date(0), next: { at: new Date(0) } }
  ],
  "one of a pair": [Schema.Tuple([Schema.String, Schema.Date]), ["a", "1970-01-01T00:00:00.000Z"], ["a", new Date(0)]],
  "one of a list": [Schema.Array(Schema.NullOr(Schema.Date)), [null, "1970-01-01T00:00:00.000Z"], [null, new Date(0)]],
  "one of a record": [Schema.Record(Schema.String, Schema.Date), { a: "1970-01-01T00:00:00.000Z" }, { a: new Date(0) }]
}

/** A tool that takes a value, and records it. */
const taking = (schema: Schema.Top, given: Array<unknown>) =>
  Tool.make("take", {
    parameters: Schema.Struct({ value: schema as Schema.Codec<unknown, unknown> }),
    success: Schema.String,
    effects: "read",
    execute: ({ value }) => Effect.sync(() => (given.push(value), "taken"))
  })

const byHand = (tool: ReturnType<typeof taking>, args: Readonly<Record<string, unknown>>) =>
  Effect.provideService(tool.call, ToolCall.ToolCall, ToolCall.make({ id: "by hand", arguments: args }))

describe("a value without a JSON form", () => {
  for (const [what, [schema, json, value]] of Object.entries(values)) {
    it.effect(`is an argument, as a model's JSON and a program's value: ${what}`, () =>
      Effect.gen(function*() {
        const given: Array<unknown> = []
        const Take = taking(schema, given)
        const agent = Agent.make("desk", { tools: [Take] })
        yield* agent.run("go").pipe(
          Effect.provide(ScriptedModel.layer([call("take", { value: json }), text("done")]))
        )
        yield* byHand(Take, { value })
        assert.deepStrictEqual(given, [value, value])
      }))

    it.effect(`is an answer: ${what}`, () =>
      Effect.gen(function*() {
        const alone = Agent.make("alone", { output: schema as Schema.Codec<unknown, unknown> })
        const within = Agent.make("within", {
          output: Schema.Struct({ value: schema as Schema.Codec<unknown, unknown> })
        })
        const answers = (answer: Schema.Json) => ScriptedModel.layer([text(JSON.stringify(answer))])
        assert.deepStrictEqual(yield* Effect.provide(alone.run("go"), answers(json)), value)
        assert.deepStrictEqual(yield* Effect.provide(alone.run("go"), answers({ answer: json })), value)
        assert.deepStrictEqual(yield* Effect.provide(within.run("go"), answers({ value: json })), { value })
      }))
  }

  it.effect("is read for a recovery that takes the parameters", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const Take = Tool.make("take", {
        parameters: Schema.Struct({ at: Schema.Date }),
        success: Schema.String,
        effects: "read",
        execute: () => Effect.fail("down")
      }).pipe(Tool.onError((attempt, params) =>
        Effect.catch(attempt, () => Effect.map(params, ({ at }) => (seen.push(at), "instead")))
      ))
      yield* Agent.make("desk", { tools: [Take] }).run("go").pipe(
        Effect.provide(ScriptedModel.layer([call("take", { at: "1970-01-01T00:00:00.000Z" }), text("done")]))
      )
      assert.deepStrictEqual(seen, [new Date(0)])
    }))

  it.effect("is refused with the expectation of its JSON form", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const schema = Schema.Struct({
        at: Schema.Date,
        amount: Schema.Number,
        note: Schema.optionalKey(Schema.String),
        more: Schema.optionalKey(Schema.Array(Schema.Number))
      })
      const right = { at: "1970-01-01T00:00:00.000Z", amount: 1 }
      const wrong: ReadonlyArray<readonly [Schema.Json, RegExp]> = [
        [{ ...right, at: "yesterday" }, /at: expected a valid/i],
        [{ ...right, at: 5 }, /at: expected/i],
        [{ amount: 1 }, /at: required/i],
        [{ ...right, note: 1 }, /note: expected string/i],
        // A model that may write NaN would pass comparing checks.
        [{ ...right, amount: "NaN" }, /amount: expected number/i],
        [{ ...right, amount: "Infinity" }, /amount: expected number/i],
        [{ ...right, more: [1, "NaN"] }, /more.1: expected number/i],
        [{ ...right, more: ["-Infinity"] }, /more.0: expected number/i]
      ]
      for (const [value, said] of wrong) {
        const results: Array<unknown> = []
        yield* Agent.make("desk", { tools: [taking(schema, given)], defaults: { onError: Recovery.keepGoing } })
          .run("go").pipe(
            Effect.provide(ScriptedModel.layer((request, index) => {
              results.push(...lastResults(request.prompt).map(({ result }) => result))
              return ScriptedModel.steps([call("take", { value }), text("done")])(request, index)
            }))
          )
        assert.strictEqual(results.length, 1)
        assert.match(JSON.stringify(results[0]), said)
      }
      assert.deepStrictEqual(given, [])
    }))

  it.effect("refuses numbers that JSON does not have, and reads null as absent", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const schema = Schema.Struct({ amount: Schema.Number, note: Schema.optional(Schema.String) })
      for (const value of [{ amount: "NaN" }, { amount: "Infinity", note: null }]) {
        const error = yield* Effect.flip(byHand(taking(schema, given), { value }))
        assert.strictEqual(error._tag, "InvalidArgs")
      }
      assert.deepStrictEqual(given, [])
      yield* byHand(taking(schema, given), { value: { amount: 1, note: null } })
      assert.deepStrictEqual(given, [{ amount: 1, note: undefined }])
    }))
})
