/** Turns that an agent shapes, and conversations that it shortens: edge cases, and recovery from its journal. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Agent, Approval, History, ModelError, Quarantine, Recovery, Tool } from "@recourse/core"
import { Cause, Data, Effect, Exit, Layer, Redacted, Schema } from "effect"
import { AiError, type LanguageModel, Prompt, Tokenizer } from "effect/ai"
import { collect } from "../support/kit.ts"

const Echo = Tool.make("echo", {
  parameters: Schema.Struct({ text: Schema.String }),
  success: Schema.String,
  effects: "read",
  execute: ({ text }) => Effect.succeed(text)
})

const requests = Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)
const given = (...turns: ReadonlyArray<ScriptedModel.Turn>) => Effect.provide(ScriptedModel.layer(turns))
const texts = (prompt: Prompt.Prompt) =>
  prompt.content.map(({ content, role }) =>
    `${role}: ${typeof content === "string" ? content : content.map((part) => "text" in part ? part.text : part.type)}`
  )
const failureOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined

class Own extends Data.TaggedError("Own") {}

const tooLong = ScriptedModel.failWith(AiError.make({
  module: "Test",
  method: "call",
  reason: new AiError.InvalidRequestError({ metadata: { openaiCompatible: { kind: "context-length" } } })
}))

describe("a turn that is prepared", () => {
  it.effect("has its instructions between the agent's and the messages", () => {
    const prompts = [
      undefined,
      Prompt.make([{ role: "system", content: "Only this." }]),
      Prompt.make([{ role: "system", content: "One." }, { role: "system", content: "Two." }, {
        role: "user",
        content: "Well?"
      }])
    ]
    const agent = Agent.make("a", {
      instructions: "Be kind.",
      tools: [Echo],
      prepareTurn: ({ turn }) => ({ instructions: "This turn only.", prompt: prompts[turn - 1] })
    })
    const echo = (text: string) => ScriptedModel.call("echo", { text })
    return Effect.gen(function*() {
      yield* agent.run("Hello")
      assert.deepStrictEqual((yield* requests).map(({ prompt }) => texts(prompt)), [
        ["system: Be kind.", "system: This turn only.", "user: Hello"],
        ["system: Only this.", "system: This turn only."],
        ["system: One.", "system: Two.", "system: This turn only.", "user: Well?"]
      ])
    }).pipe(given(echo("a"), echo("b"), ScriptedModel.text("Hi")))
  })

  it.effect("knows whose words the run has read", () => {
    const Fetch = Tool.make("fetch", {
      effects: "read",
      trust: "untrusted",
      success: Schema.String,
      execute: () => Effect.succeed("page")
    })
    const seen: Array<ReadonlyArray<string>> = []
    const agent = Agent.make("a", {
      tools: [Fetch],
      prepareTurn: ({ taintedBy }) => {
        seen.push(taintedBy)
        return undefined
      }
    })
    return Effect.gen(function*() {
      yield* agent.run("Read")
      assert.deepStrictEqual(seen, [[], ["fetch"]])
    }).pipe(
      given(ScriptedModel.call("fetch", {}), ScriptedModel.text("Done")),
      Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32))))
    )
  })

  it.effect("with a missing tool: the defect names the existing ones", () =>
    Effect.gen(function*() {
      const Send = Tool.make("send", { effects: "write", execute: () => Effect.void })
      const agent = Agent.make("a", { tools: [Echo, Send], prepareTurn: () => ({ tools: ["ecoh"] as never }) })
      const exit = yield* Effect.exit(agent.run("Hi"))
      assert.include(String(exit), `prepareTurn offers "ecoh", which is none of its tools (echo, send)`)
    }).pipe(given()))

  it.effect("fails the run before the first request, also with guarded answers", () =>
    Effect.gen(function*() {
      const guards = { input: { guardInput: () => Effect.void }, output: { guardOutput: () => Effect.void } }
      for (const guard of Object.values(guards)) {
        const agent = Agent.make("a", { prepareTurn: () => Effect.fail(new Own()), ...guard } as never)
        const run = (agent as never as Agent.Agent<string, string, Own, LanguageModel.LanguageModel>).run("Hi")
        const exit = yield* Effect.exit(run)
        const reasons = Exit.isFailure(exit) ? exit.cause.reasons : []
        assert.deepStrictEqual(reasons.map((reason) => Cause.isFailReason(reason) && reason.error._tag), ["Own"])
      }
      assert.strictEqual((yield* requests).length, 0)
    }).pipe(given()))
})

describe("an answer that the provider has paused", () => {
  it.effect("is resumed: the model reads its own text", () =>
    Effect.gen(function*() {
      const { exit, transcript, usage } = yield* Agent.make("a", { tools: [Echo] }).report("Begin")
      assert.deepStrictEqual(exit, Exit.succeed("and the rest"))
      const [, second] = yield* requests
      assert.deepStrictEqual(texts(second!.prompt), ["user: Begin", "assistant: The half"])
      assert.deepStrictEqual(texts(transcript), ["user: Begin", "assistant: The half", "assistant: and the rest"])
      assert.strictEqual(usage.toolCalls, 0)
    }).pipe(given(ScriptedModel.text("The half", { finishReason: "pause" }), ScriptedModel.text("and the rest"))))

  it.effect("is emitted before the next request if the last is guarded", () => {
    const { events, layer } = collect()
    const agent = Agent.make("a", { guardOutput: () => Effect.void })
    return Effect.gen(function*() {
      yield* agent.run("Begin")
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event._tag === "ModelTurnFinished" ? [event.text] : event._tag === "ModelTurnStarted" ? [event._tag] : []
        ),
        ["ModelTurnStarted", "The half", "ModelTurnStarted", "and the rest"]
      )
    }).pipe(
      given(ScriptedModel.text("The half", { finishReason: "pause" }), ScriptedModel.text("and the rest")),
      Effect.provide(layer)
    )
  })
})

describe("a conversation that can be made shorter", () => {
  const long = "word ".repeat(200)
  const echo = ScriptedModel.call("echo", { text: long })
  /** Leaves the oldest call out: shorter each time. */
  const shorter = (asked: Array<number>) => (prompt: Prompt.Prompt) => {
    asked.push(prompt.content.length)
    return prompt.content.length < 4
      ? prompt
      : Prompt.fromMessages([prompt.content[0]!, ...prompt.content.slice(3)])
  }

  it.effect("is shortened once for each refused request, and not again", () => {
    const asked: Array<number> = []
    const agent = Agent.make("a", { tools: [Echo], compact: { by: shorter(asked) } })
    return Effect.gen(function*() {
      const error = yield* Effect.flip(agent.run("Begin"))
      assert.isTrue(AiError.isAiError(error) && ModelError.isContextLength(error))
      assert.deepStrictEqual((yield* requests).map(({ prompt }) => prompt.content.length), [1, 3, 5, 7, 5])
      assert.deepStrictEqual(asked, [7])
    }).pipe(given(echo, echo, echo, tooLong, tooLong))
  })

  it.effect("does not change without the option: the refusal fails the run", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Agent.make("a", { tools: [Echo] }).run("Begin"))
      assert.isTrue(AiError.isAiError(error) && ModelError.isContextLength(error))
      assert.strictEqual((yield* requests).length, 2)
    }).pipe(given(echo, tooLong)))

  it.effect("does not change for other errors, which fail the run", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const options = { tools: [Echo], compact: { by: shorter(asked) } }
      const limited = yield* Effect.flip(
        Agent.make("a", options).run("Begin").pipe(given(echo, echo, ScriptedModel.failure("RateLimitError")))
      )
      assert.isTrue(AiError.isAiError(limited) && limited.reason._tag === "RateLimitError")
      const own = yield* Effect.exit(
        Agent.make("a", { ...options, onModelError: () => Effect.fail(new Own()) }).run("Begin").pipe(
          given(echo, echo, ScriptedModel.failure("RateLimitError"))
        )
      )
      assert.strictEqual(failureOf(own) instanceof Own, true)
      assert.deepStrictEqual(asked, [])
    }))

  it.effect("stays as it is at the limit, and not above it", () =>
    Effect.gen(function*() {
      const first = (yield* Effect.andThen(
        Agent.make("a", { tools: [Echo] }).run("Begin"),
        requests
      ).pipe(given(echo, echo, ScriptedModel.text("Done")))).at(-1)!.prompt
      const count = yield* History.countTokens(first.content)
      for (const [maxTokens, compacted] of [[count, []], [count - 1, [5]]] as const) {
        const asked: Array<number> = []
        const agent = Agent.make("a", { tools: [Echo], compact: { maxTokens, by: shorter(asked) } })
        yield* agent.run("Begin").pipe(given(echo, echo, ScriptedModel.text("Done")))
        assert.deepStrictEqual(asked, [...compacted])
      }
    }))

  it.effect("is not counted without a limit", () => {
    let counted = 0
    const tokenizer = Tokenizer.make({
      tokenize: () =>
        Effect.sync(() => {
          counted++
          return [1]
        })
    })
    return Effect.gen(function*() {
      const agent = Agent.make("a", { tools: [Echo], compact: { by: shorter([]) } })
      assert.strictEqual(yield* agent.run("Begin"), "Done")
      assert.strictEqual(counted, 0)
      const counting = Agent.make("a", { tools: [Echo], compact: { maxTokens: 1, by: shorter([]) } })
      yield* counting.run("Begin").pipe(given(ScriptedModel.text("Done")))
      assert.isAbove(counted, 0)
    }).pipe(
      given(echo, ScriptedModel.text("Done")),
      Effect.provide(Layer.succeed(Tokenizer.Tokenizer, tokenizer))
    )
  })
})

it.effect("a provider's untrusted call in the conversation taints the run", () => {
  const provided = { id: "s", name: "web_search", providerExecuted: true } as const
  const earlier = Prompt.fromMessages([
    ...Prompt.make("Find it").content,
    Prompt.assistantMessage({
      content: [
        Prompt.toolCallPart({ ...provided, params: {} }),
        Prompt.toolResultPart({ ...provided, isFailure: false, result: "a page" })
      ]
    })
  ])
  assert.deepStrictEqual(Quarantine.taintedBy(earlier), [])
  const agent = Agent.make("a", {
    tools: [Echo],
    prompt: (text) => Prompt.concat(earlier, text),
    defaults: { onError: Recovery.standard }
  })
  return Effect.gen(function*() {
    const { taintedBy } = yield* agent.report("And?")
    assert.deepStrictEqual(taintedBy, ["web_search"])
  }).pipe(given(ScriptedModel.text("Done")))
})
