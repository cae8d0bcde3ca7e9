import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema, Stream } from "effect"
import { LanguageModel, type Response } from "effect/ai"
import { Agent, AgentEvent, Approval, Catalogue, ModelProvider, Policy, Recovery, Tool } from "@recourse/core"
import { collect } from "../support/kit.ts"

type Events = ReadonlyArray<AgentEvent.AgentEvent>
type Tag = AgentEvent.AgentEvent["_tag"]

const only = <const T extends Tag>(
  events: Events,
  tag: T
): ReadonlyArray<Extract<AgentEvent.AgentEvent, { _tag: T }>> =>
  events.filter((event): event is Extract<AgentEvent.AgentEvent, { _tag: T }> => event._tag === tag)

const key = Approval.layerKey(Redacted.make("k".repeat(32)))
const usage = { inputTokens: { total: 3 }, outputTokens: { total: 4 } }

/** A model that streams the given parts; its later answers are text. */
const streaming = (parts: ReadonlyArray<Response.StreamPartEncoded>) => {
  let turns = 0
  const text: ReadonlyArray<Response.StreamPartEncoded> = [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "done" },
    { type: "text-end", id: "0" },
    { type: "finish", reason: "stop", usage } as Response.StreamPartEncoded
  ]
  return Layer.effect(
    LanguageModel.LanguageModel,
    ModelProvider.make({
      generateText: () => Effect.die("not streamed"),
      streamText: () => Stream.fromIterable(turns++ === 0 ? parts : text)
    })
  )
}

const Refund = Tool.make("refund", {
  parameters: Schema.Struct({ amount: Schema.Number }),
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: ({ amount }) => Effect.succeed(`refunded ${amount}`)
})

describe("events", () => {
  it.effect("fit their schema as JSON and back, each with its version", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      yield* Agent.make("a", { tools: [Refund] }).start("x").pipe(
        Effect.provide([layer, key, ScriptedModel.layer([ScriptedModel.call("refund", { amount: 5 })])])
      )
      const json = Schema.fromJsonString(Schema.toCodecJson(AgentEvent.AgentEvent))
      for (const event of events) {
        const text = yield* Schema.encodeEffect(json)(event)
        assert.deepStrictEqual(yield* Schema.encodeEffect(json)(yield* Schema.decodeEffect(json)(text)), text)
      }
      assert.strictEqual(only(events, "RunStarted")[0]?.version, AgentEvent.version)
    }))

  it.effect("of a run that succeeds end with its usage and its conversation", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(Agent.make("a", {}).stream("hi")).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("hello")]))
      )
      const last = only(events, "RunFinished")[0]!
      assert.deepStrictEqual([last.usage.turns, last.usage.inputTokens], [1, 10])
      assert.deepStrictEqual(last.transcript.content.map(({ role }) => role), ["user", "assistant"])
    }))

  it.effect("of a failed run have a code and the user's localised text", () =>
    Effect.gen(function*() {
      for (
        const [reason, code] of [["RateLimitError", "rate_limited"], ["AuthenticationError", "authentication"]] as const
      ) {
        const { events, layer } = collect()
        yield* Effect.exit(Agent.make("a", {}).run("x")).pipe(
          Effect.provide([layer, ScriptedModel.layer([ScriptedModel.failure(reason)]), Catalogue.layerLocale("zh")])
        )
        const { error, outcome, userMessage, ...last } = only(events, "RunFinished")[0]!
        assert.deepStrictEqual([outcome, error, last.code, userMessage], [
          "failure",
          "AiError",
          code,
          Catalogue.zh[code]
        ])
        assert.deepStrictEqual(only(events, "ModelTurnFailed").map(({ error }) => error), [reason])
      }
    }))

  it.effect("of failed results hold the user's text apart from the model's", () =>
    Effect.gen(function*() {
      const broken = Tool.make("broken", { effects: "read", execute: () => Effect.fail("secret" as const) })
      const { events, layer } = collect()
      yield* Agent.make("a", { tools: [broken], defaults: { onError: Recovery.standard } }).report("x").pipe(
        Effect.provide([layer, ScriptedModel.layer([ScriptedModel.call("broken", {}), ScriptedModel.text("ok")])])
      )
      const { code, userMessage } = only(events, "ToolResult")[0]!
      assert.deepStrictEqual([code, userMessage], ["execution_error", Catalogue.en.execution_error])
      assert.deepStrictEqual(only(events, "ToolAttemptFailed").map(({ attempt, error }) => [attempt, error]), [
        [1, "ExecutionError"]
      ])
    }))

  it.effect("of waiting calls have decision id, expiry and no attempt, then resumption", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk", { input: Schema.Struct({ q: Schema.String }), tools: [Refund] })
      const Clerk = clerk.pipe(
        Agent.asTool("clerk", {
          description: "c",
          parameters: Schema.Struct({ q: Schema.String }),
          success: Schema.String
        })
      )
      const desk = Agent.make("desk", { tools: [Clerk] })
      const { events, layer } = collect()
      const turns = [
        ScriptedModel.call("clerk", { q: "r" }, { id: "c1" }),
        ScriptedModel.call("refund", { amount: 5 }, { id: "c2" }),
        ScriptedModel.text("refunded"),
        ScriptedModel.text("done")
      ]
      yield* Effect.gen(function*() {
        const waiting = yield* desk.start("x")
        assert.strictEqual(waiting._tag, "Paused")
        if (waiting._tag !== "Paused") return
        const asked = only(events, "ApprovalRequested")[0]!
        assert.deepStrictEqual([asked.callId, asked.pendingCallId], ["c2", "c1/c2"])
        assert.isAbove(asked.expiresAt, asked.requestedAt)
        assert.deepStrictEqual(only(events, "RunFinished")[0]?.pending, waiting.pending)
        assert.deepStrictEqual(only(events, "ToolAttempt").map(({ callId }) => callId), ["c1"])
        events.length = 0
        yield* desk.resume(waiting.snapshot, [Approval.edit(waiting.pending[0]!, { amount: 7 })])
        assert.deepStrictEqual(
          only(events, "ToolCallStarted").map(({ arguments: args, callId, resumed }) => [callId, args, resumed]),
          [["c1", `{"q":"r"}`, true], ["c2", `{"amount":7}`, true]]
        )
        assert.isTrue(only(events, "RunStarted")[0]?.resumed && only(events, "AgentStarted")[0]?.resumed)
        assert.deepStrictEqual(only(events, "ToolAttempt").map(({ callId }) => callId), ["c2"])
        assert.deepStrictEqual(only(events, "ToolAttemptSucceeded").map(({ callId }) => callId), ["c2", "c1"])
      }).pipe(Effect.provide([layer, key, ScriptedModel.layer(turns)]))
    }))

  it.effect("separate a person's rejection from a policy's denial", () =>
    Effect.gen(function*() {
      const Read = Tool.make("read", { effects: "read", execute: () => Effect.void })
      const never = Policy.make(
        "never",
        ({ tool }) => Effect.succeed(tool === "read" ? Policy.deny("no") : Policy.allow)
      )
      const agent = Agent.make("a", { tools: [Refund, Read], policies: [never] })
      const { events, layer } = collect()
      const calls = ScriptedModel.calls([{ name: "refund", params: { amount: 1 } }, { name: "read", params: {} }])
      yield* Effect.gen(function*() {
        const waiting = yield* agent.start("x")
        if (waiting._tag !== "Paused") return assert.fail("it does not wait")
        yield* agent.resume(waiting.snapshot, [Approval.reject(waiting.pending[0]!, "too much")])
      }).pipe(Effect.provide([layer, key, ScriptedModel.layer([calls, ScriptedModel.text("ok")])]))
      assert.deepStrictEqual(only(events, "ToolResult").map(({ deniedBy, tool }) => [tool, deniedBy]), [
        ["read", "policy"],
        ["refund", "person"]
      ])
    }))
})

describe("streamed answers", () => {
  const Write = Tool.make("write", {
    parameters: Schema.Struct({ text: Schema.String }),
    success: Schema.String,
    effects: "read",
    execute: () => Effect.succeed("written")
  })
  const parts = [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "hm" },
    { type: "reasoning-end", id: "r" },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "a" },
    { type: "text-delta", id: "t", delta: "b" },
    { type: "text-end", id: "t" },
    { type: "source", sourceType: "url", id: "s1", url: "https://example.com/x", title: "X" },
    { type: "file", mediaType: "image/png", data: "AQID" },
    { type: "tool-call", id: "p1", name: "web_search", params: { q: "x" }, providerExecuted: true },
    { type: "tool-result", id: "p1", name: "web_search", result: ["hit"], isFailure: false, providerExecuted: true },
    { type: "tool-params-start", id: "c1", name: "write" },
    { type: "tool-params-delta", id: "c1", delta: `{"text":` },
    { type: "tool-params-delta", id: "c1", delta: `"long"}` },
    { type: "tool-params-end", id: "c1" },
    { type: "tool-params-start", id: "a/b", name: "write" },
    { type: "tool-params-delta", id: "a/b", delta: `{"text":"odd"}` },
    { type: "tool-params-end", id: "a/b" },
    { type: "tool-call", id: "c1", name: "write", params: { text: "long" } },
    { type: "tool-call", id: "a/b", name: "write", params: { text: "odd" } },
    { type: "finish", reason: "tool-calls", usage }
  ] as unknown as ReadonlyArray<Response.StreamPartEncoded>

  const told = (agent: Agent.Agent<string, string, unknown, LanguageModel.LanguageModel>, model = streaming(parts)) =>
    Stream.runCollect(agent.stream("x")).pipe(Effect.provide(model))

  it.effect("separate parts by ids and ends, sources, files and provider calls", () =>
    Effect.gen(function*() {
      const events = yield* told(Agent.make("a", { tools: [Write] }))
      const first = events.filter((event) => "turn" in event && event.turn === 1)
      assert.deepStrictEqual(first.map(({ _tag }) => _tag), [
        "ModelTurnStarted",
        "ReasoningDelta",
        "ReasoningFinished",
        "TextDelta",
        "TextDelta",
        "TextFinished",
        "ModelSource",
        "ModelFile",
        "ProviderToolCall",
        "ProviderToolResult",
        "ToolCallDelta",
        "ToolCallDelta",
        "ModelTurnFinished"
      ])
      assert.strictEqual(only(events, "ModelSource")[0]?.url, "https://example.com/x")
      assert.deepStrictEqual([...only(events, "ModelFile")[0]!.data], [1, 2, 3])
      assert.deepStrictEqual(only(events, "ProviderToolResult")[0]?.result, ["hit"])
      const ids = only(events, "TextDelta").map(({ partId }) => partId)
      assert.deepStrictEqual([ids[0] === ids[1], ids[1] === ids[2]], [true, false])
    }))

  it.effect("emit arguments as they arrive, under the call's id", () =>
    Effect.gen(function*() {
      const events = yield* told(Agent.make("a", { tools: [Write] }))
      const deltas = Map.groupBy(only(events, "ToolCallDelta"), ({ callId }) => callId)
      const started = only(events, "ToolCallStarted")
      assert.deepStrictEqual(started.map(({ callId }) => callId), ["c1", "a_b"])
      for (const [callId, pieces] of deltas) {
        const whole = started.find((call) => call.callId === callId)
        assert.strictEqual(pieces.map(({ delta }) => delta).join(""), whole?.arguments)
      }
      assert.deepStrictEqual([...deltas.keys()], ["c1"])
    }))

  it.effect("that are cut end their parts and their model call", () =>
    Effect.gen(function*() {
      const cut = ScriptedModel.layer([ScriptedModel.cut(ScriptedModel.text("one two three"), { after: 2 })])
      const events: Array<AgentEvent.AgentEvent> = []
      yield* Agent.make("a", {}).stream("x").pipe(
        Stream.runForEach((event) => Effect.sync(() => events.push(event))),
        Effect.exit,
        Effect.provide(cut)
      )
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
        "RunStarted",
        "ModelTurnStarted",
        "TextDelta",
        "TextFinished",
        "ModelTurnFailed",
        "RunFinished"
      ])
    }))

  it.effect("without streaming emit the same sources, files and provider tools", () =>
    Effect.gen(function*() {
      const whole = parts.filter(({ type }) => !/delta|start|end/.test(type))
      let turns = 0
      const model = Layer.effect(
        LanguageModel.LanguageModel,
        ModelProvider.make({
          generateText: () =>
            Effect.sync(() =>
              (turns++ === 0
                ? whole
                : [{ type: "text", text: "done" }, { type: "finish", reason: "stop", usage }]) as never
            ),
          streamText: () => Stream.die("streamed")
        })
      )
      const { layer, tags } = collect()
      yield* Drive.drive(Agent.make("a", { tools: [Write] }).run("x").pipe(Effect.provide([layer, model])))
      assert.deepStrictEqual(tags().slice(2, 7), [
        "ModelSource",
        "ModelFile",
        "ProviderToolCall",
        "ProviderToolResult",
        "ModelTurnFinished"
      ])
    }))
})
