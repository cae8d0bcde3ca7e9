/** Shaping of an agent's requests: prepared, compacted, in a format; each test checks the next request. */

import { assert, describe, it } from "@effect/vitest"
import { Drive, Laws, ScriptedModel } from "@recourse/testing"
import {
  Agent,
  type AgentError,
  Approval,
  ModelError,
  ModelFallback,
  ModelProvider,
  Quarantine,
  Recovery,
  Tool
} from "@recourse/core"
import { Context, Data, Effect, Exit, Layer, Redacted, Schedule, Schema, Stream } from "effect"
import { AiError, LanguageModel, OpenAiStructuredOutput, Prompt } from "effect/ai"
import { Echo, given, requests, texts, Wipe } from "../support/turnRequests.ts"

const down = AiError.make({
  module: "Test",
  method: "call",
  reason: new AiError.InternalProviderError({ description: "down" })
})

describe("instructions", () => {
  it.effect("are made of the input, once", () => {
    let asked = 0
    const agent = Agent.make("a", {
      tools: [Echo],
      instructions: (name: string) => Effect.sync(() => `${++asked}. Greet ${name}`)
    })
    return Effect.gen(function*() {
      yield* agent.run("Ada")
      assert.deepStrictEqual(texts((yield* requests)[1]!.prompt).slice(0, 2), ["system: 1. Greet Ada", "user: Ada"])
    }).pipe(given(ScriptedModel.call("echo", { text: "x" }), ScriptedModel.text("Hi")))
  })
})

describe("prepareTurn", () => {
  it.effect("shapes one request; unoffered tools are unknown, the conversation stays", () => {
    const seen: Array<unknown> = []
    const agent = Agent.make("a", {
      instructions: "Be kind.",
      tools: [Echo, Wipe],
      prepareTurn: ({ prompt, taintedBy, tools, turn, usage }) => {
        seen.push([turn, tools, prompt.content.length, taintedBy, usage.turns])
        return turn === 1
          ? { tools: ["echo"], instructions: "This turn only.", prompt: Prompt.make("Something else") }
          : undefined
      },
      defaults: { onError: Recovery.standard }
    })
    return Effect.gen(function*() {
      yield* agent.run("Hello")
      const [first, second] = yield* requests
      assert.deepStrictEqual(first!.tools, ["echo"])
      assert.deepStrictEqual(texts(first!.prompt), ["system: This turn only.", "user: Something else"])
      assert.deepStrictEqual(second!.tools, ["echo", "wipe"])
      assert.deepStrictEqual(texts(second!.prompt).slice(0, 2), ["system: Be kind.", "user: Hello"])
      assert.include(JSON.stringify(second!.prompt), "tool_not_found")
      assert.deepStrictEqual(Laws.problemsOfHistory(second!.prompt), [])
      assert.deepStrictEqual(seen, [[1, ["echo", "wipe"], 2, [], 0], [2, ["echo", "wipe"], 4, [], 1]])
    }).pipe(given(ScriptedModel.call("wipe", {}), ScriptedModel.text("Hi")))
  })

  it.effect("sets the model, the tool choice, and a request wrapper", () => {
    const Setting = Context.Reference("test/Setting", { defaultValue: () => "none" })
    const asked: Array<unknown> = []
    const answer = (text: string) => [{ type: "text" as const, text }, {
      type: "finish" as const,
      reason: "stop" as const,
      usage: { inputTokens: {}, outputTokens: {} }
    }]
    return Effect.gen(function*() {
      const other = yield* ModelProvider.make({
        generateText: ({ toolChoice }) =>
          Effect.map(Effect.service(Setting), (setting) => {
            asked.push([toolChoice, setting])
            return answer("from the other")
          }),
        streamText: () => Stream.die("not streamed")
      })
      const agent = Agent.make("a", {
        tools: [Echo],
        prepareTurn: () =>
          Effect.succeed({
            model: other,
            toolChoice: { tool: "echo" as const },
            around: Effect.provideService(Setting, "low")
          })
      })
      assert.strictEqual(yield* agent.run("Hi"), "from the other")
      assert.deepStrictEqual(asked, [[{ tool: "echo" }, "low"]])
    }).pipe(given())
  })

  it.effect("is not called again for a retried request", () => {
    const turns: Array<number> = []
    const agent = Agent.make("a", {
      prepareTurn: ({ turn }) => {
        turns.push(turn)
        return { instructions: `Request ${turns.length}` }
      },
      onModelError: () => ModelError.retry({ times: 1, schedule: Schedule.spaced("1 milli") })
    })
    return Effect.gen(function*() {
      assert.strictEqual(yield* Drive.drive(agent.run("Hi")), "Hello")
      assert.deepStrictEqual(turns, [1])
      const sent = (yield* requests).map(({ prompt }) => texts(prompt))
      assert.deepStrictEqual(sent, [["system: Request 1", "user: Hi"], ["system: Request 1", "user: Hi"]])
    }).pipe(given(ScriptedModel.failWith(down), ScriptedModel.text("Hello")))
  })

  it.effect("a missing tool is a defect that names it", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { tools: [Echo], prepareTurn: () => Effect.succeed({ tools: ["ecoh"] }) })
      const exit = yield* Effect.exit(agent.run("Hi"))
      assert.include(String(exit), "ecoh")
    }).pipe(given()))

  it.effect("mends its messages, taints the run, and fails it with errors", () => {
    class NoPlan extends Data.TaggedError("NoPlan") {}
    const call = Prompt.toolCallPart({ id: "x", name: "fetch", params: {}, providerExecuted: false })
    const torn = Quarantine.taint(
      Prompt.fromMessages([...Prompt.make("Hi").content, Prompt.assistantMessage({ content: [call] })]),
      ["fetch"]
    )
    const agent = Agent.make("a", {
      tools: [Echo, Wipe],
      prepareTurn: ({ turn }): Effect.Effect<Agent.TurnPlan<"echo"> | undefined, NoPlan> =>
        turn === 1 ? Effect.succeed({ prompt: torn }) : Effect.fail(new NoPlan())
    })
    return Effect.gen(function*() {
      const report = yield* agent.report("Hi")
      assert.isTrue(Exit.isFailure(report.exit) && String(report.exit.cause).includes("NoPlan"))
      assert.deepStrictEqual(report.taintedBy, ["fetch"])
      assert.deepStrictEqual(Laws.problemsOfHistory((yield* requests)[0]!.prompt), [])
    }).pipe(given(ScriptedModel.call("echo", { text: "x" })))
  })
})

describe("structured output", () => {
  const Ticket = Schema.Struct({ title: Schema.String, note: Schema.optionalKey(Schema.String) })

  it.effect("is requested at first, unless tools prevent it", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* Agent.make("a b!", { output: Ticket }).run("x"), { title: "t" })
      assert.deepStrictEqual(yield* Agent.make("n", { output: Schema.Number }).run("x"), 7)
      yield* Agent.make("t", { output: Ticket, tools: [Echo] }).run("x")
      yield* Agent.make("text", {}).run("x")
      assert.deepStrictEqual((yield* requests).map(({ format }) => format), ["json", "json", "text", "text"])
    }).pipe(given(
      ScriptedModel.object({ title: "t" }),
      ScriptedModel.object({ answer: 7 }),
      ScriptedModel.text("```json\n{ \"title\": \"t\" }\n```"),
      ScriptedModel.text("x")
    )))

  it.effect("a model that calls a tool during a correction continues", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { output: Ticket, tools: [Echo] })
      assert.deepStrictEqual(yield* agent.run("x"), { title: "looked up" })
      const all = yield* requests
      assert.deepStrictEqual(all.map(({ format }) => format), ["text", "json", "json"])
      assert.deepStrictEqual(Laws.problemsOfHistory(all[2]!.prompt), [])
      assert.include(JSON.stringify(all[2]!.prompt), "looked up")
    }).pipe(given(
      ScriptedModel.text("no JSON"),
      ScriptedModel.call("echo", { text: "looked up" }),
      ScriptedModel.object({ title: "looked up" })
    )))

  const answerTool = Effect.map(requests, (all) => all.map(({ tools }) => tools))

  it.effect("with tools is an answer tool, absent from the history", () =>
    Effect.gen(function*() {
      const agent = Agent.make("my agent", { output: Ticket, tools: [Echo] })
      const { exit, transcript } = yield* agent.report("x")
      assert.deepStrictEqual(exit, Exit.succeed({ title: "t" }))
      assert.deepStrictEqual(yield* answerTool, [["echo", "my_agent_answer"], ["echo", "my_agent_answer"]])
      assert.deepStrictEqual(Laws.problemsOfHistory(transcript), [])
      assert.deepStrictEqual(transcript.content.map(({ role }) => role), [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant"
      ])
      assert.notInclude(JSON.stringify(transcript.content.at(-1)), "my_agent_answer")
    }).pipe(given(
      // With another call in the answer, it is no final answer yet.
      ScriptedModel.calls([
        { name: "echo", params: { text: "a" } },
        { name: "my_agent_answer", params: { title: "too early" } }
      ]),
      ScriptedModel.call("my_agent_answer", { title: "t" })
    )))

  it.effect("an unfit answer tool call is corrected, and streams as text", () =>
    Effect.gen(function*() {
      const Number = Agent.make("n", { output: Schema.Int, tools: [Echo] })
      const events = yield* Stream.runCollect(Number.stream("x"))
      const last = events.at(-1)
      assert.deepInclude(last, { _tag: "RunFinished", outcome: "success", output: 7 })
      const texts = events.flatMap((event) => event._tag === "TextDelta" ? [event.delta] : [])
      assert.strictEqual(texts.join(""), `{"answer":"seven"}{"answer":7}`)
      assert.isFalse(events.some(({ _tag }) => _tag.startsWith("Tool")))
    }).pipe(given(
      ScriptedModel.call("n_answer", { answer: "seven" }),
      ScriptedModel.object({ answer: 7 })
    )))

  it.effect("an agent's tool with its name stays unchanged", () =>
    Effect.gen(function*() {
      const Own = Tool.make("a_answer", {
        success: Schema.String,
        effects: "read",
        execute: () => Effect.succeed("own")
      })
      assert.deepStrictEqual(yield* Agent.make("a", { output: Ticket, tools: [Own] }).run("x"), { title: "own" })
      assert.deepStrictEqual(yield* answerTool, [["a_answer"], ["a_answer"]])
    }).pipe(given(ScriptedModel.call("a_answer", {}), ScriptedModel.text(`{"title":"own"}`))))

  it.effect("a second unfit answer names the paths", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { output: Schema.Struct({ title: Schema.String, price: Schema.Number }) })
      const error = (yield* Effect.flip(agent.run("x"))) as AgentError.InvalidOutput
      assert.strictEqual(error._tag, "InvalidOutput")
      assert.include(error.message, "price")
      assert.notInclude(error.message, "secret")
      const typed = Agent.make("b", { input: Schema.Struct({ n: Schema.Number }), prompt: () => "x" })
      const input = yield* Effect.flip(typed.run({ n: "secret" as never }))
      assert.include(input.message, "n: ")
      assert.notInclude(input.message, "secret")
    }).pipe(given(ScriptedModel.object({ title: "secret" }), ScriptedModel.object({ title: "secret" }))))

  it.effect("an approval in a correction does not give a second correction", () => {
    const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
    const agent = Agent.make("a", { output: Ticket, tools: [Pay] })
    return Effect.gen(function*() {
      const paused = yield* agent.start("x").pipe(given(ScriptedModel.text("no"), ScriptedModel.call("pay", {})))
      const { pending, snapshot } = paused as Approval.Paused
      const error = yield* Effect.flip(agent.resume(snapshot, [Approval.approve(pending[0]!)]))
      assert.strictEqual(error._tag, "InvalidOutput")
    }).pipe(given(ScriptedModel.text("still no")), Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32)))))
  })

  const answer = (text: string) => [
    { type: "text" as const, text },
    { type: "finish" as const, reason: "stop" as const, usage: { inputTokens: {}, outputTokens: {} } }
  ]

  it.effect("a provider that refuses a format is called without it", () =>
    Effect.gen(function*() {
      const formats: Array<string> = []
      const model = yield* ModelProvider.make({
        generateText: ({ responseFormat }) => {
          formats.push(responseFormat.type)
          return responseFormat.type === "text" ? Effect.succeed(answer(`{"title":"t"}`)) : Effect.fail(
            AiError.make({ module: "T", method: "t", reason: new AiError.InvalidRequestError({}) })
          )
        },
        streamText: () => Stream.die("not streamed")
      })
      const run = Agent.make("a", { output: Ticket }).run("x").pipe(
        Effect.provideService(LanguageModel.LanguageModel, model)
      )
      assert.deepStrictEqual([yield* run, yield* run], [{ title: "t" }, { title: "t" }])
      assert.deepStrictEqual(formats, ["json", "text", "text"])
    }))

  it.effect("decodes a provider's transformed schema, also behind a fallback", () =>
    Effect.gen(function*() {
      const model = ModelProvider.make({
        codecTransformer: OpenAiStructuredOutput.toCodecOpenAI,
        generateText: ({ responseFormat }) =>
          Effect.succeed(answer(responseFormat.type === "json" ? `{"title":"t","note":null}` : "no")),
        streamText: () => Stream.die("not streamed")
      })
      const agent = Agent.make("a", { output: Ticket })
      const direct = Layer.effect(LanguageModel.LanguageModel, model)
      assert.deepStrictEqual(yield* agent.run("x").pipe(Effect.provide(direct)), { title: "t" })
      assert.deepStrictEqual(yield* agent.run("x").pipe(Effect.provide(ModelFallback.layer([direct]))), { title: "t" })
    }))

  it.effect("combines tools and a format if the provider supports it", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const model = yield* ModelProvider.make({
        structuredOutput: "with-tools",
        generateText: ({ responseFormat, tools }) => {
          seen.push([responseFormat.type, tools.length])
          return Effect.succeed(answer(`{"title":"t"}`))
        },
        streamText: () => Stream.die("not streamed")
      })
      yield* Agent.make("a", { output: Ticket, tools: [Echo] }).run("x").pipe(
        Effect.provideService(LanguageModel.LanguageModel, model)
      )
      assert.deepStrictEqual(seen, [["json", 1]])
    }))
})

describe("partialOutput", () => {
  it.effect("emits the known part, and restarts with a corrected answer", () =>
    Effect.gen(function*() {
      const Output = Schema.Struct({ names: Schema.Array(Schema.String), n: Schema.Number })
      const values = yield* Agent.make("a", { output: Output }).stream("x").pipe(
        Agent.partialOutput(Output),
        Stream.runCollect
      )
      assert.deepStrictEqual(values, [
        {},
        { names: ["a "] },
        { names: ["a b"] },
        { names: ["a b", "\u{1F600}"] },
        {},
        { names: [] },
        { names: [], n: 12 }
      ] as never)
    }).pipe(given(
      ScriptedModel.text(`Here: { "names": ["a b", "\\ud83d\\ude00"], "n": tru }`),
      ScriptedModel.text(`{ "names": [], "n": 12 }`)
    )))
})
