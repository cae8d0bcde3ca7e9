/** Compaction of an agent's requests. */

import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel } from "@recourse/testing"
import { Agent, Approval, ConfigurationError, History, ModelError, Quarantine, Recovery, Tool } from "@recourse/core"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { AiError, Prompt, Tokenizer } from "effect/ai"
import { collect } from "../support/kit.ts"
import { Echo, given, requests, texts, Wipe } from "../support/turnRequests.ts"

const tooLong = ScriptedModel.failWith(AiError.make({
  module: "Test",
  method: "call",
  reason: new AiError.InvalidRequestError({ metadata: { openaiCompatible: { kind: "context-length" } } })
}))

describe("compact", () => {
  const long = "word ".repeat(200)

  const rounds = [
    ScriptedModel.call("echo", { text: long }),
    ScriptedModel.call("echo", { text: long }),
    ScriptedModel.call("echo", { text: long })
  ]

  it.effect("shortens requests before the limit; calls stay whole, records complete", () => {
    const { events, layer } = collect()
    const agent = Agent.make("a", {
      instructions: "Be kind.",
      tools: [Echo],
      compact: { maxTokens: 900, by: History.keepLast(2) }
    })
    return Effect.gen(function*() {
      const { exit, transcript } = yield* agent.report("Begin")
      assert.deepStrictEqual(exit, Exit.succeed("Done"))
      for (const { prompt } of yield* requests) {
        assert.deepStrictEqual(Laws.problemsOfHistory(prompt), [])
        assert.deepStrictEqual(texts(prompt).slice(0, 2), ["system: Be kind.", "user: Begin"])
      }
      assert.deepStrictEqual((yield* requests).map(({ prompt }) => prompt.content.length), [2, 4, 4, 4])
      assert.strictEqual(transcript.content.length, 9)
      const compacted = events.flatMap((event) => event._tag === "ContextCompacted" ? [event] : [])
      assert.deepStrictEqual(compacted.map(({ because, turn }) => [turn, because]), [[3, "max_tokens"], [
        4,
        "max_tokens"
      ]])
      assert.isTrue(compacted.every(({ tokens, tokensBefore }) => tokens < tokensBefore && tokensBefore > 900))
    }).pipe(Effect.provide(Layer.merge(ScriptedModel.layer([...rounds, ScriptedModel.text("Done")]), layer)))
  })

  it.effect("answers a refusal with one shorter request, then the error", () => {
    const { events, layer } = collect()
    const agent = Agent.make("a", { tools: [Echo], compact: { by: History.keepLast(2) } })
    return Effect.gen(function*() {
      assert.strictEqual(yield* agent.run("Begin"), "Done")
      assert.deepStrictEqual((yield* requests).map(({ prompt }) => prompt.content.length), [1, 3, 5, 3])
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ContextCompacted" ? [event.because] : []),
        ["context_length"]
      )
      const again = yield* Effect.flip(agent.run("Begin").pipe(given(...rounds.slice(0, 2), tooLong, tooLong)))
      assert.isTrue(AiError.isAiError(again) && ModelError.isContextLength(again))
      const hopeless = yield* agent.report("Begin").pipe(given(tooLong))
      assert.isTrue(Exit.isFailure(hopeless.exit), "what cannot be made shorter is not sent again")
      assert.strictEqual(hopeless.usage.turns, 1)
    }).pipe(
      Effect.provide(
        Layer.merge(ScriptedModel.layer([...rounds.slice(0, 2), tooLong, ScriptedModel.text("Done")]), layer)
      )
    )
  })

  it.effect("an agent summarises, charged to the run, keeping the taint", () => {
    const Fetch = Tool.make("fetch", {
      effects: "read",
      trust: "untrusted",
      success: Schema.String,
      execute: () => Effect.succeed(long)
    })
    const summariser = Agent.make("summariser", { instructions: "Sum up." }).pipe(
      Agent.provide(ScriptedModel.layer(() => ScriptedModel.text("They read a page.")))
    )
    const agent = Agent.make("a", {
      tools: [Fetch, Echo, Wipe],
      compact: { maxTokens: 700, by: History.summarised(summariser, { keep: 2 }) },
      defaults: { onError: Recovery.standard }
    })
    return Effect.gen(function*() {
      const { exit, taintedBy, usage } = yield* agent.report("Read")
      assert.deepStrictEqual(exit, Exit.succeed("Done"))
      const last = (yield* requests).at(-1)!.prompt
      assert.deepStrictEqual(texts(last).slice(0, 1).map((text) => text.includes("They read a page.")), [true])
      assert.deepStrictEqual(Laws.problemsOfHistory(last), [])
      assert.deepStrictEqual(Quarantine.taintedBy(last), ["fetch"])
      assert.deepStrictEqual(taintedBy, ["fetch"])
      assert.strictEqual(usage.turns, 5, "four of the agent, one of the summariser")
    }).pipe(
      given(
        ScriptedModel.call("fetch", {}),
        ScriptedModel.call("echo", { text: long }),
        ScriptedModel.call("echo", { text: "x" }),
        ScriptedModel.text("Done")
      ),
      Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32))))
    )
  })

  it.effect("a paused run resumes with its compacted messages", () => {
    const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
    const agent = Agent.make("a", { tools: [Echo, Pay], compact: { maxTokens: 600, by: History.keepLast(2) } })
    return Effect.gen(function*() {
      const paused = yield* agent.start("Begin").pipe(given(...rounds.slice(0, 2), ScriptedModel.call("pay", {})))
      assert.strictEqual(paused._tag, "Paused")
      const { pending, snapshot } = paused as Approval.Paused
      const json = JSON.parse(JSON.stringify(snapshot)) as unknown
      yield* agent.resume(json, [Approval.approve(pending[0]!)])
      const { prompt } = (yield* requests)[0]!
      assert.deepStrictEqual(prompt.content.map(({ role }) => role), ["user", "assistant", "tool", "assistant", "tool"])
      assert.deepStrictEqual(Laws.problemsOfHistory(prompt), [])
    }).pipe(given(ScriptedModel.text("Done")), Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32)))))
  })

  it("refuses a limit that is none", () => {
    for (const maxTokens of [0, -1, Number.NaN]) {
      assert.throws(
        () => Agent.make("a", { compact: { maxTokens, by: (prompt) => prompt } }),
        ConfigurationError.ConfigurationError
      )
    }
    for (const count of [0, 1.5, Number.NaN]) {
      assert.throws(() => History.keepLast(count), ConfigurationError.ConfigurationError)
      assert.throws(() => History.withinTokens(count), ConfigurationError.ConfigurationError)
    }
  })
})

describe("countTokens", () => {
  it.effect("uses the context's tokenizer, and estimates if it fails", () =>
    Effect.gen(function*() {
      const { content } = Prompt.make("a b c")
      const tokenizer = (tokenize: Tokenizer.Service["tokenize"]) =>
        Effect.provideService(Tokenizer.Tokenizer, { tokenize, truncate: () => Effect.die("not used") })
      assert.strictEqual(yield* History.countTokens(content).pipe(tokenizer(() => Effect.succeed([1, 2, 3]))), 3)
      assert.strictEqual(
        yield* History.countTokens(content).pipe(
          tokenizer(() => Effect.fail(AiError.make({ module: "T", method: "t", reason: new AiError.UnknownError({}) })))
        ),
        yield* History.countTokens(content)
      )
    }))
})
