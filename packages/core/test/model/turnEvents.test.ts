/** Events of a turn with the model, and of its end. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schedule, Schema, Stream } from "effect"
import type { Response } from "effect/ai"
import { AiError, LanguageModel, Prompt } from "effect/ai"
import { Agent, AgentEvent, Guardrail, ModelError, ModelProvider, Skill, Tool } from "@recourse/core"
import { collect } from "../support/kit.ts"
import { finish } from "../support/parts.ts"
import { answering, exitOf, streamedText, text } from "../support/answeringModels.ts"

const detailed = Layer.succeed(AgentEvent.Details, true)

describe("events of a turn", () => {
  const Echo = Tool.make("echo", { parameters: Schema.Struct({ text: Schema.String }), execute: () => Effect.void })

  it.effect("include the choice of tools and the new part of the conversation", () =>
    Effect.gen(function*() {
      const choices: ReadonlyArray<readonly [Agent.TurnPlan<"echo">["toolChoice"], string | undefined]> = [
        [undefined, undefined],
        ["auto", undefined],
        ["required", "required"],
        ["none", "none"],
        [{ tool: "echo" }, `{"tool":"echo"}`]
      ]
      for (const [toolChoice, expected] of choices) {
        const { events, layer } = collect()
        const agent = Agent.make("a", { tools: [Echo], prepareTurn: () => ({ toolChoice }) })
        const call = { type: "tool-call", id: "c", name: "echo", params: { text: "x" } }
        yield* Effect.provide(agent.run("x"), [
          answering([call, finish("tool-calls")], [text("y"), finish("stop")]),
          layer,
          detailed
        ])
        const requested = events.filter((event) => event._tag === "ModelRequested")
        assert.deepStrictEqual(
          requested.map((event) => [event.kept, event.messages.content.map(({ role }) => role), event.toolChoice]),
          [[0, ["user"], expected], [1, ["assistant", "tool"], expected]]
        )
        assert.strictEqual("toolChoice" in requested[0]!, expected !== undefined)
      }
    }))

  it.effect("include a changed conversation from its first change on", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const user = (said: string) => Prompt.make(said).content[0]!
      const [one, two, three] = [user("1"), user("2"), user("3")]
      const prompts = [[one, two, three], [one, three], [one, three, two], [one]].map((messages) =>
        Prompt.fromMessages(messages)
      )
      const agent = Agent.make("a", { tools: [Echo], prepareTurn: ({ turn }) => ({ prompt: prompts[turn - 1] }) })
      const call = (
        id: number
      ) => [{ type: "tool-call", id: `c${id}`, name: "echo", params: { text: `${id}` } }, finish("tool-calls")]
      yield* Effect.provide(agent.run("x"), [
        answering(call(1), call(2), call(3), [text("y"), finish("stop")]),
        layer,
        detailed
      ])
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ModelRequested" ? [[event.kept, event.messages.content.length]] : []),
        [[0, 3], [1, 1], [2, 1], [1, 0]]
      )
    }))

  it.effect("include documents with and without a name, and final provider results", () =>
    Effect.gen(function*() {
      const document = { type: "source", sourceType: "document", id: "s", mediaType: "text/plain", title: "T" }
      const result = {
        type: "tool-result",
        id: "p",
        name: "search",
        result: 1,
        isFailure: false,
        providerExecuted: true
      }
      const parts = [
        { ...document, fileName: "a.txt" },
        document,
        { type: "tool-call", id: "p", name: "search", params: {}, providerExecuted: true },
        { ...result, preliminary: true },
        { ...result, result: 2 }
      ]
      for (const streamed of [false, true]) {
        const { events, layer } = collect()
        const said = streamed ? streamedText("y") : [text("y")]
        yield* Effect.provide(exitOf(Agent.make("a", {}), streamed), [
          answering([...parts, ...said, finish("stop")]),
          layer
        ])
        assert.deepStrictEqual(
          events.flatMap((event) =>
            event._tag === "ModelSource"
              ? [[event.mediaType, event.fileName, "fileName" in event, event.url]]
              : event._tag === "ProviderToolResult"
              ? [event.result]
              : []
          ),
          [["text/plain", "a.txt", true, undefined], ["text/plain", undefined, false, undefined], 2]
        )
      }
    }))

  it.effect("are delayed until a guard passes, and dropped if it stops", () =>
    Effect.gen(function*() {
      const unsafe = (category: string) => new Guardrail.UnsafeInput({ category })
      for (const verdict of ["pass", "stop"] as const) {
        const { events, layer } = collect()
        const seen: Array<number> = []
        const agent = Agent.make("a", {
          guardOutput: (output: string) =>
            Effect.suspend(() => {
              seen.push(events.filter(({ _tag }) => _tag === "TextDelta" || _tag === "ModelTurnFinished").length)
              return verdict === "pass" ? Effect.void : Effect.fail(unsafe(output))
            })
        })
        const exit = yield* Effect.provide(exitOf(agent, true), [
          answering([...streamedText("a", "1"), ...streamedText("b", "2"), finish("stop")]),
          layer
        ])
        assert.deepStrictEqual(seen, [0])
        assert.strictEqual(Exit.isSuccess(exit), verdict === "pass")
        assert.deepStrictEqual(
          events.flatMap((event) =>
            event._tag === "TextDelta" ? [event.delta] : /^Text|^ModelTurn/.test(event._tag) ? [event._tag] : []
          ),
          verdict === "pass"
            ? ["ModelTurnStarted", "a", "TextFinished", "b", "TextFinished", "ModelTurnFinished"]
            : ["ModelTurnStarted", "ModelTurnFailed"]
        )
      }
    }))
})

describe("the end of a turn", () => {
  const Echo = Tool.make("echo", { parameters: Schema.Struct({ text: Schema.String }), execute: () => Effect.void })

  const usage = { inputTokens: { total: 3, cacheRead: 1 }, outputTokens: { total: 2 } }

  const ended = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
    events.flatMap((event) =>
      event._tag === "ModelTurnFinished"
        ? [[event.text, event.toolCalls, event.finishReason, event.inputTokens, event.outputTokens]]
        : []
    )

  it.effect("has text, calls, reason and tokens, which the run sums up", () =>
    Effect.gen(function*() {
      const call = { type: "tool-call", id: "c", name: "echo", params: { text: "x" } }
      const executed = { type: "tool-call", id: "p", name: "search", params: {}, providerExecuted: true }
      const said = (words: string) => [text(words), text("!")]
      const { events, layer } = collect()
      const report = yield* Effect.provide(Agent.make("a", { tools: [Echo] }).report("x"), [
        answering(
          [...said("a"), executed, call, { type: "finish", reason: "tool-calls", usage }],
          [...said("b"), { type: "finish", reason: "stop", usage }]
        ),
        layer
      ])
      assert.deepStrictEqual(ended(events), [["a!", 1, "tool-calls", 3, 2], ["b!", 0, "stop", 3, 2]])
      assert.deepInclude(report.usage, { inputTokens: 6, cachedInputTokens: 2, outputTokens: 4, totalTokens: 10 })
      const heard = yield* Effect.provide(Stream.runCollect(Agent.make("a", {}).stream("x")), [
        answering([...streamedText("a", "1"), ...streamedText("!", "2"), { type: "finish", reason: "stop", usage }])
      ])
      assert.deepStrictEqual(ended([...heard]), [["a!", 0, "stop", 3, 2]])
    }))

  it.effect("of an invalid choice has the text without a reason or tools", () =>
    Effect.gen(function*() {
      const skills = ["read", "write"].map((name) => Skill.make(name, { description: name, tools: [Echo] }))
      for (const said of ["no object", ""]) {
        const { events, layer } = collect()
        yield* Effect.exit(Effect.provide(Agent.make("a", { skills }).run("x"), [
          answering([...(said === "" ? [] : [text(said)]), { type: "finish", reason: "stop", usage }]),
          layer,
          detailed
        ]))
        assert.deepStrictEqual(ended(events), [[said, 0, "unknown", 0, 0]])
        assert.deepStrictEqual(
          events.flatMap((event) => event._tag === "ModelRequested" ? [[event.tools, "toolChoice" in event]] : []),
          [[[], false]]
        )
      }
    }))

  it.effect("ends only started parts; arguments grow under the first name", () =>
    Effect.gen(function*() {
      const start = (id: string, name: string, more: object = {}) => ({ type: "tool-params-start", id, name, ...more })
      const delta = (id: string, delta: string) => ({ type: "tool-params-delta", id, delta })
      const events = yield* Effect.provide(Stream.runCollect(Agent.make("a", { tools: [Echo] }).stream("x")), [
        answering([
          { type: "text-end", id: "none" },
          delta("early", "x"),
          start("p", "search", { providerExecuted: true }),
          delta("p", "x"),
          start("c", "echo"),
          start("c", "other"),
          delta("c", "{}"),
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "y" },
          { type: "text-end", id: "t" },
          { type: "text-end", id: "t" },
          { type: "reasoning-end", id: "t" },
          finish("stop")
        ])
      ])
      assert.deepStrictEqual(
        [...events].flatMap((event) =>
          event._tag === "ToolCallDelta"
            ? [[event.tool, event.callId, event.delta]]
            : /^(Text|Reasoning)/.test(event._tag)
            ? [event._tag]
            : []
        ),
        [["echo", "c", "{}"], "TextDelta", "TextFinished"]
      )
    }))

  it.effect("a partly emitted answer is not requested again after any error", () =>
    Effect.gen(function*() {
      for (
        const [parts, calls] of [
          [[{ type: "response-metadata", id: "r" }], 2],
          [[{ type: "response-metadata", id: "r" }, { type: "text-start", id: "t" }], 1]
        ] as const
      ) {
        let asked = 0
        const model = ModelProvider.make({
          generateText: () => Effect.die("not here"),
          streamText: () => {
            asked++
            const down = AiError.make({
              module: "T",
              method: "m",
              reason: new AiError.InternalProviderError({ description: "x" })
            })
            return Stream.concat(
              Stream.fromIterable(parts as ReadonlyArray<Response.StreamPartEncoded>),
              Stream.fail(down)
            )
          }
        })
        const agent = Agent.make("a", {
          onModelError: () => ModelError.retry({ times: 1, schedule: Schedule.forever })
        })
        const exit = yield* Effect.exit(Stream.runDrain(agent.stream("x"))).pipe(
          Effect.provideServiceEffect(LanguageModel.LanguageModel, model)
        )
        assert.isTrue(Exit.isFailure(exit))
        assert.strictEqual(asked, calls)
      }
    }))
})
