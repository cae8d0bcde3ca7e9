/** Final answers: texts that are decoded as the output, the model's corrections, and requests to providers. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentEvent, ModelProvider } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Schema, Stream } from "effect"
import { LanguageModel, OpenAiStructuredOutput } from "effect/ai"
import { collect } from "../support/kit.ts"
import { finish } from "../support/parts.ts"

const { text } = ScriptedModel

/** Outcome of an uncorrected answer: its output, or a misfit. */
const readAs = (output: Schema.Top, answer: string) =>
  Effect.map(
    Effect.exit(
      Agent.make("a", { output: output as Schema.Codec<unknown, unknown> }).run("x").pipe(
        Effect.provide(ScriptedModel.layer([text(answer), text("no")]))
      )
    ),
    (exit) => Exit.isSuccess(exit) ? exit.value : "does not fit"
  )

const N = Schema.Struct({ n: Schema.Number })
const texts: ReadonlyArray<readonly [what: string, output: Schema.Top, answer: string, read: unknown]> = [
  ["an object", N, `{"n":1}`, { n: 1 }],
  ["an object that is wrapped", N, `{"answer":{"n":1}}`, { n: 1 }],
  ["an object beside something else", N, `{"answer":{"n":1},"sure":true}`, "does not fit"],
  ["an object with a key of this name", Schema.Struct({ answer: Schema.Number }), `{"answer":1}`, { answer: 1 }],
  ["nothing", Schema.NullOr(Schema.Number), "null", null],
  ["nothing, in place of an object", N, "null", "does not fit"],
  ["nothing that is wrapped", Schema.NullOr(Schema.Number), `{"answer":null}`, null],
  ["a number that is wrapped", Schema.Number, `{"answer":1}`, 1],
  ["a number beside something else", Schema.Number, `{"answer":1,"sure":true}`, "does not fit"],
  ["a record of that key alone", Schema.Union([Schema.Number, N]), `{"answer":{"n":1}}`, { n: 1 }],
  ["an object with space around it", N, `\n {"n":1} `, { n: 1 }],
  ["a list with space around it that is none of JSON", Schema.Array(Schema.Number), "\u00a0[1, 2]", [1, 2]],
  ["an object in a fence", N, "Here:\n```json\n{\"n\":1}\n```\nIs it right?", { n: 1 }],
  ["a list in a fence", Schema.Array(Schema.Number), "```\n[1, 2]\n```", [1, 2]],
  ["an object in a fence with space that is none of JSON", N, "```\n\u00a0{\"n\":1}\n```", { n: 1 }],
  ["a list in a fence that says what it is", Schema.Array(Schema.Number), "```json\n[1, 2]\n```", [1, 2]],
  ["a list in a fence with space that is none of JSON", Schema.Array(Schema.Number), "```\n\u00a0[1, 2]\n```", [1, 2]],
  ["a list of one object", Schema.Array(N), `[{"n":1}]`, [{ n: 1 }]],
  ["the one fence that holds JSON", N, "```sh\nls {a}\n```\nand\n```json\n{\"n\":1}\n```", { n: 1 }],
  ["neither of two fences", N, "```json\n{\"n\":1}\n```\nor\n```json\n{\"n\":2}\n```", "does not fit"],
  [
    "the object around a fence",
    Schema.Struct({ text: Schema.String }),
    `{"text":"\`\`\`json\\n{\\"n\\":1}\\n\`\`\`"}`,
    {
      text: "```json\n{\"n\":1}\n```"
    }
  ],
  ["an object with words behind it", N, `{"n":1} is it.`, { n: 1 }],
  ["an object with words around it", N, `It is {"n":1}, I think.`, { n: 1 }],
  ["an object behind braces that are none", N, `Of {a} and { I take {"n":1}`, { n: 1 }],
  ["an object with another one in it", Schema.Struct({ in: N }), `It is {"in":{"n":1}}.`, { in: { n: 1 } }],
  ["neither of two objects", N, `{"n":1} or {"n":2}`, "does not fit"],
  ["an object with braces in texts", Schema.Struct({ text: Schema.String }), `It is {"text":"}{"}.`, { text: "}{" }],
  ["an object with quotes in texts", Schema.Struct({ text: Schema.String }), `It is {"text":"\\"}\\\\"}.`, {
    text: "\"}\\"
  }],
  ["an object behind nineteen braces", N, `${"{x} ".repeat(19)}{"n":1}`, { n: 1 }],
  ["no object behind twenty braces", N, `${"{x} ".repeat(20)}{"n":1}`, "does not fit"],
  ["what is a wrapping itself", Schema.Union([Schema.Number, Schema.Struct({ answer: N })]), `{"answer":{"n":1}}`, {
    answer: { n: 1 }
  }]
]

describe("an answer is read", () => {
  it.effect.each(texts)("%s", ([, output, answer, read]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* readAs(output, answer), read)
    }))
})

describe("the model's correction of an answer that does not fit", () => {
  const Even = Schema.Number.check(Schema.makeFilter((n) => n % 2 === 0 || "must be even"))
  const Output = Schema.Struct({ title: Schema.String, price: Schema.Number, seats: Even })
  const corrections: ReadonlyArray<
    readonly [what: string, answer: string, issues: ReadonlyArray<string>, told: string]
  > = [
    [
      "no JSON",
      "It costs much.",
      ["expected only JSON"],
      "Your answer does not fit: expected only JSON. Answer again."
    ],
    [
      "all that is wrong, not the first only",
      `{"title":1,"seats":2}`,
      ["expected string", "required"],
      ""
    ],
    ["in the words of who has made the schema", `{"title":"t","price":1,"seats":3}`, ["must be even"], ""]
  ]
  it.effect.each(corrections)("%s", ([, answer, issues, told]) =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const prompts: Array<unknown> = []
      yield* Agent.make("a", { output: Output }).run("x").pipe(Effect.provide([
        layer,
        ScriptedModel.layer(({ prompt }) => {
          prompts.push(prompt.content.at(-1)?.content)
          return prompts.length === 1 ? text(answer) : ScriptedModel.object({ title: "t", price: 1, seats: 2 })
        })
      ]))
      const correction = events.find((event): event is AgentEvent.AgentEvent & { readonly _tag: "OutputCorrection" } =>
        event._tag === "OutputCorrection"
      )
      const said = (prompts[1] as ReadonlyArray<{ readonly text: string }>)[0]!.text
      assert.deepStrictEqual(correction?.issues, issues)
      for (const issue of issues) assert.include(said, issue)
      if (told !== "") assert.strictEqual(said, told)
    }))
})

describe("the request to a provider", () => {
  const answer = (text: string) => [{ type: "text" as const, text }, finish("stop")]
  const provider = (
    text: string,
    codecTransformer: LanguageModel.CodecTransformer | undefined,
    formats: Array<LanguageModel.ProviderOptions["responseFormat"]> = []
  ) =>
    Layer.effect(
      LanguageModel.LanguageModel,
      ModelProvider.make({
        ...(codecTransformer === undefined ? undefined : { codecTransformer }),
        generateText: ({ responseFormat }) => {
          formats.push(responseFormat)
          return Effect.succeed(answer(text))
        },
        streamText: () => Stream.die("not streamed")
      })
    )
  const List = Schema.Array(Schema.Struct({ title: Schema.String, note: Schema.optionalKey(Schema.String) }))

  it.effect("has a name of at most 64 allowed characters", () =>
    Effect.gen(function*() {
      const formats: Array<LanguageModel.ProviderOptions["responseFormat"]> = []
      yield* Agent.make(`the clerk of ${"x".repeat(100)}`, { output: N }).run("x").pipe(
        Effect.provide(provider(`{"n":1}`, undefined, formats))
      )
      const [format] = formats
      assert.strictEqual(format?.type === "json" && format.objectName, `the_clerk_of_${"x".repeat(51)}`)
    }))

  it.effect("is an object for any output; its transformed schema is decoded", () =>
    Effect.gen(function*() {
      const formats: Array<LanguageModel.ProviderOptions["responseFormat"]> = []
      const agent = Agent.make("a", { output: List })
      const answers = provider(`{"answer":[{"title":"t","note":null}]}`, OpenAiStructuredOutput.toCodecOpenAI, formats)
      assert.deepStrictEqual(yield* agent.run("x").pipe(Effect.provide(answers)), [{ title: "t" }])
    }))

  it.effect("is changed by a provider once for all answers of an agent", () =>
    Effect.gen(function*() {
      let changes = 0
      const agent = Agent.make("a", { output: List })
      const answers = provider(`{"answer":[{"title":"t","note":null}]}`, (schema) => {
        changes++
        return OpenAiStructuredOutput.toCodecOpenAI(schema)
      })
      const runs = Effect.forEach([1, 2, 3], () => agent.run("x"))
      assert.deepStrictEqual(yield* Effect.provide(runs, answers), [[{ title: "t" }], [{ title: "t" }], [{
        title: "t"
      }]])
      assert.strictEqual(changes, 1)
    }))

  it.effect("ends no run by a provider's schema limits: misfits stay misfits", () =>
    Effect.gen(function*() {
      const answers = provider(`{"title":1}`, () => {
        throw new Error("not supported")
      })
      const error = yield* Effect.flip(Agent.make("a", { output: List }).run("x")).pipe(Effect.provide(answers))
      assert.strictEqual(error._tag, "InvalidOutput")
    }))
})

describe("a message of a schema's author", () => {
  const deep = (levels: number): Schema.Json => levels === 0 ? "abc" : { a: deep(levels - 1) }
  const list = (index: number): Schema.Json => Array.from({ length: 101 }, (_, n) => n === index ? "abc" : "x")

  it.effect.each<readonly [value: Schema.Json, message: string, isShown: boolean]>([
    ["abc", "must be another", true],
    ["abc", "abc is wrong", false],
    ["ab", "ab is wrong", true],
    [123, "123 is wrong", false],
    [12, "12 is wrong", true],
    [true, "true is wrong", true],
    [null, "null is wrong", true],
    [{ a: "xyz", b: "abc" }, "abc is wrong", false],
    [{ a: "xyz", b: "uvw" }, "abc is wrong", true],
    [[null, 1, "abc"], "abc is wrong", false],
    [deep(4), "abc is wrong", false],
    [deep(5), "abc is wrong", true],
    [list(99), "abc is wrong", false],
    [list(100), "abc is wrong", true]
  ])("is shown unless it quotes the value: %j, %s", ([value, message, isShown]) =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const Output = Schema.Struct({ v: Schema.Json.check(Schema.makeFilter(() => message)) })
      yield* Effect.exit(Agent.make("a", { output: Output }).run("x")).pipe(
        Effect.provide([layer, ScriptedModel.layer([text(JSON.stringify({ v: value })), text("no")])])
      )
      const told = events.flatMap((event) => event._tag === "OutputCorrection" ? event.issues : [])
      assert.deepStrictEqual(told, [isShown ? message : "expected a valid value"])
    }))

  it.effect("is the first text of a group, else the expectation", () =>
    Effect.gen(function*() {
      const issuesOf = (schema: Schema.Top, value: Schema.Json) =>
        Effect.gen(function*() {
          const { events, layer } = collect()
          yield* Effect.exit(
            Agent.make("a", { output: Schema.Struct({ v: schema as Schema.Codec<unknown, unknown> }) }).run("x")
          ).pipe(Effect.provide([layer, ScriptedModel.layer([text(JSON.stringify({ v: value })), text("no")])]))
          return events.flatMap((event) => event._tag === "OutputCorrection" ? event.issues : [])
        })
      assert.deepStrictEqual(yield* issuesOf(Schema.Int, 1.5), ["expected an integer"])
      assert.deepStrictEqual(yield* issuesOf(Schema.Int, 2 ** 60), [
        "expected a safe integer: this one has more digits than a number can hold"
      ])
      const letters = Array.from({ length: 25 }, (_, index) => `letter ${String.fromCharCode(65 + index)}`)
      const first = (count: number) => letters.slice(0, count).map((letter) => `"${letter}"`).join(" | ")
      assert.deepStrictEqual(yield* issuesOf(Schema.Literals(letters), "x"), [`expected ${first(20)} | 5 more`])
      assert.deepStrictEqual(yield* issuesOf(Schema.Literals(letters.slice(0, 20)), "x"), [`expected ${first(20)}`])
    }))
})
