import { assert, describe, it } from "@effect/vitest"
import { JsonRepair } from "@recourse/json-repair"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"

const make = <const Eff extends Tool.Effects | undefined>(effects: Eff, options?: JsonRepair.Options) => {
  const seen: Array<string> = []
  const tool = Tool.make("greet", {
    parameters: Schema.Struct({ name: Schema.String }),
    effects,
    execute: ({ name }) => Effect.sync(() => void seen.push(name))
  }).pipe(Tool.onError(Recovery.fix("InvalidArgs", JsonRepair.fixer(options))))
  return { seen, agent: Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } }) }
}

const run = (made: ReturnType<typeof make>, args: unknown) =>
  made.agent.report("x").pipe(
    Effect.provide(ScriptedModel.layer([ScriptedModel.call("greet", args), ScriptedModel.text("ok")])),
    Effect.map((report) => {
      assert.isTrue(Exit.isSuccess(report.exit))
      return report
    })
  )

describe("JsonRepair", () => {
  it.effect("repairs syntax, and the record and the transcript say so", () =>
    Effect.gen(function*() {
      const made = make("read")
      const report = yield* run(made, "{name: 'Ada', // hi\n")
      assert.deepStrictEqual(made.seen, ["Ada"])
      assert.strictEqual(report.executed[0]?.fixedBy, "json-repair")
      const result = report.transcript.content.find((message) => message.role === "tool")?.content[0]
      assert.strictEqual(
        (result?.options["recourse"] as { readonly repaired: { readonly by: string } }).repaired.by,
        "json-repair"
      )
    }))

  it.effect("does not invent values for the schema", () =>
    Effect.gen(function*() {
      const made = make("read")
      yield* run(made, "{age: 3")
      yield* run(made, { age: 3 })
      assert.deepStrictEqual(made.seen, [])
    }))

  it.effect("declines tools that are not declared to read, unless they are named", () =>
    Effect.gen(function*() {
      for (const effects of ["write", "idempotent", undefined] as const) {
        const guarded = make(effects)
        yield* run(guarded, "{name: 'Ada'}")
        assert.deepStrictEqual(guarded.seen, [], effects)
        const named = make(effects, { tools: ["greet"] })
        yield* run(named, "{name: 'Ada'}")
        assert.deepStrictEqual(named.seen, ["Ada"], effects)
      }
    }))
})

const answer = (text: string, options?: JsonRepair.Options) =>
  Effect.map(
    JsonRepair.fixer(options).run({
      tool: "t",
      effects: "read",
      arguments: text,
      jsonSchema: {},
      code: "invalid_arguments",
      issues: [{ path: [], expected: "", problem: "syntax" }],
      fix: 1,
      error: undefined as never
    }),
    (answered) => typeof answered === "string" ? JSON.parse(answered) as unknown : answered._tag
  )

describe("repaired texts", () => {
  const fence = "```"
  const repaired: Record<string, readonly [string, unknown]> = {
    "a comma behind the last field": ["{\"a\":1,}", { a: 1 }],
    "a raw line break in a string": ["{\"a\":\"x\ny\"}", { a: "x\ny" }],
    "a quote within a string": ["{\"a\":\"say \"hi\" now\"}", { a: "say \"hi\" now" }],
    "a Windows path": [String.raw`{"p":"C:\temp\new\Users\report.csv",}`, {
      p: String.raw`C:\temp\new\Users\report.csv`
    }],
    "a Windows path that is escaped": [String.raw`{"p":"C:\\temp\\new",}`, { p: String.raw`C:\temp\new` }],
    "a host": [String.raw`{"p":"\\server\temp\b",}`, { p: String.raw`\\server\temp\b` }],
    "a host that is escaped": [String.raw`{"p":"\\\\server\\temp",}`, { p: String.raw`\\server\temp` }],
    "a pattern": [String.raw`{"p":"^\d+\s$"}`, { p: String.raw`^\d+\s$` }],
    "escapes of JSON beside another mistake": [String.raw`{"p":"a\nb\u00e9\"c\"",}`, { p: "a\nbé\"c\"" }],
    "prose around it": ["Sure, here it is: {\"a\":{\"b\":1}} Anything else?", { a: { b: 1 } }],
    "prose around a broken one": ["Sure: {a: {b: 1},} ok", { a: { b: 1 } }],
    "a placeholder in prose": ["For {name}: {\"a\":1}", { a: 1 }],
    "a fence": [`${fence}json\n{"a":1}\n${fence}`, { a: 1 }],
    "a fence in prose": [`I call it.\n${fence}json\n{"a":1,}\n${fence}\nDone {ok}.`, { a: 1 }],
    "an object that is cut off": ["{\"a\":[1,{\"b\":2}", { a: [1, { b: 2 }] }],
    "an object that is cut off behind a whole one": ["{\"a\":{\"b\":1},\"c\":\"x", { a: { b: 1 }, c: "x" }]
  }
  for (const [name, [text, value]] of Object.entries(repaired)) {
    it.effect(name, () => Effect.map(answer(text), (answered) => assert.deepStrictEqual(answered, value)))
  }

  const declined: Record<string, string> = {
    "two objects": "{\"a\":1}\n{\"a\":2}",
    "two objects in prose": "First {\"a\":1}, then {\"a\":2}.",
    "two fences": `${fence}\n{"a":1}\n${fence}\nor\n${fence}\n{"a":2}\n${fence}`,
    "no object": "I cannot do that.",
    "an array": "[1,2,]",
    "a pattern beside a line break": String.raw`{"p":"\d\n"}`,
    "5,000 nested objects": "{\"a\":".repeat(5000),
    "5,000 nested arrays": `{"a":${"[".repeat(5000)}`,
    "text above the limit": `{"a":"${"x".repeat(32_768)}",}`
  }
  for (const [name, text] of Object.entries(declined)) {
    it.effect(`declined: ${name}`, () =>
      Effect.map(answer(text), (answered) => assert.strictEqual(answered, "FixDeclined")))
  }

  it.effect("the limit can be set", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* answer("{\"a\":1,}", { maxLength: 7 }), "FixDeclined")
      assert.deepStrictEqual(yield* answer("{\"a\":1,}", { maxLength: 8 }), { a: 1 })
    }))

  it.effect("whatever is asked, it answers an object or declines, in bounded time", () =>
    Effect.gen(function*() {
      const pieces = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        ":",
        ",",
        "a",
        "1",
        " ",
        "\n",
        "```",
        "'",
        "/*",
        "\ud800",
        "é",
        "\\u",
        "C:\\",
        "//"
      ]
      let seed = 7
      const next = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n
      const before = process.cpuUsage()
      for (let i = 0; i < 3_000; i++) {
        const text = Array.from({ length: next(60) }, () => pieces[next(pieces.length)]).join("")
        const answered = yield* answer(text)
        assert.isTrue(answered === "FixDeclined" || (typeof answered === "object" && !Array.isArray(answered)))
      }
      for (const piece of pieces) yield* answer(`{${piece.repeat(32_000 / piece.length)}`)
      const { user } = process.cpuUsage(before)
      assert.isBelow(user, 30_000_000)
    }))
})
