/**
 * The transport within an agent's run: its waits end before the deadline, and an error that it has retried is not
 * retried above it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Clock, Effect, Exit, Layer, Schedule, Schema } from "effect"
import { AiError, LanguageModel } from "effect/ai"
import { HttpClient, HttpClientResponse } from "effect/http"
import { Agent, ModelError, Recovery, Tool, TransportRetry } from "@recourse/core"

type Reply = { readonly status: number; readonly headers?: Record<string, string>; readonly text?: string }

/** A client that plays replies, the last one again and again, and counts requests. */
const scripted = (...replies: ReadonlyArray<Reply>) => {
  const state = { requests: 0 }
  const client = HttpClient.make((request) =>
    Effect.sync(() => {
      const { headers = {}, status, text = null } = replies[Math.min(state.requests++, replies.length - 1)]!
      return HttpClientResponse.fromWeb(request, new Response(text, { status, headers }))
    })
  )
  return { client, state }
}

const unavailable = () =>
  AiError.make({
    module: "m",
    method: "generateText",
    reason: new AiError.InternalProviderError({ description: "503" })
  })

/** A model that sends one request for each call. Its answer is complete if the reply has a text. */
const modelOver = (client: HttpClient.HttpClient) =>
  Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: () =>
        Effect.gen(function*() {
          const response = yield* Effect.orDie(client.get("http://localhost/"))
          if (response.status >= 400) return yield* unavailable()
          const text = yield* Effect.orDie(response.text)
          const reason = text === "" ? "length" : "stop"
          return [{ type: "text", text: text || "cut" }, {
            type: "finish",
            reason,
            usage: { inputTokens: {}, outputTokens: {} }
          }] as never
        }),
      streamText: () => ({}) as never
    })
  )

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Drive.drive(
    Effect.gen(function*() {
      const start = yield* Clock.currentTimeMillis
      const exit = yield* Effect.exit(effect)
      return { exit, millis: (yield* Clock.currentTimeMillis) - start }
    }),
    { step: "1 second" }
  )

const failureOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit) && exit.cause.reasons[0]?._tag === "Fail"
    ? (exit.cause.reasons[0].error as { readonly _tag: string })._tag
    : undefined

const slow: Reply = { status: 503, headers: { "retry-after": "30" } }
const budget = { duration: "10 seconds" } as const

describe("a wait that ends after the run's deadline", () => {
  it.effect("is not waited for by the transport of a model", () =>
    Effect.gen(function*() {
      const { client, state } = scripted(slow)
      const model = modelOver(TransportRetry.transform(client))
      const { exit, millis } = yield* timed(Agent.make("a", { budget }).run("x").pipe(Effect.provide(model)))
      assert.deepStrictEqual([failureOf(exit), state.requests, millis], ["AiError", 1, 0])
      const unbounded = yield* timed(Agent.make("a", {}).run("x").pipe(Effect.provide(model)))
      assert.deepStrictEqual([failureOf(unbounded.exit), state.requests, unbounded.millis], ["AiError", 4, 60_000])
    }))

  it.effect("is not waited for by a tool's or nested agent's transport", () =>
    Effect.gen(function*() {
      const { client, state } = scripted(slow)
      const retrying = TransportRetry.transform(client)
      const fetches = Tool.make("look", {
        effects: "read",
        execute: () =>
          Effect.asVoid(Effect.flatMap(retrying.get("http://localhost/"), HttpClientResponse.filterStatusOk))
      }).pipe(Tool.onError(Recovery.escalate("ExecutionError")))
      const clerk = Agent.make("clerk", {}).pipe(
        Agent.provide(modelOver(retrying)),
        Agent.asTool("ask", { description: "Asks", effects: "read" }),
        Tool.onError(Recovery.escalate("ExecutionError"))
      )
      for (const [tool, name, args] of [[fetches, "look", {}], [clerk, "ask", { input: "x" }]] as const) {
        state.requests = 0
        const agent = Agent.make("a", {
          tools: [tool as typeof fetches],
          budget,
          defaults: { onError: Recovery.standard }
        })
        const { exit, millis } = yield* timed(
          agent.run("x").pipe(
            Effect.provide(ScriptedModel.layer([ScriptedModel.call(name, args), ScriptedModel.text("ok")]))
          )
        )
        assert.deepStrictEqual([name, exit, state.requests, millis], [name, Exit.succeed("ok"), 1, 0])
      }
    }))

  it.effect("is not waited for by ModelError.layer", () =>
    Effect.gen(function*() {
      const { client, state } = scripted({ status: 503 })
      const model = ModelError.layer(() => ModelError.retry({ times: 3, schedule: Schedule.spaced("30 seconds") }))
        .pipe(
          Layer.provide(modelOver(client))
        )
      const { exit, millis } = yield* timed(Agent.make("a", { budget }).run("x").pipe(Effect.provide(model)))
      assert.deepStrictEqual([failureOf(exit), state.requests, millis], ["AiError", 1, 0])
    }))
})

describe("a model call whose request was repeated", () => {
  const onModelError = () => ModelError.retry({ times: 2, schedule: Schedule.forever })

  it.effect("is retried for another reason: its answer is not complete", () =>
    Effect.gen(function*() {
      const { client, state } = scripted({ status: 503 }, { status: 200 }, { status: 503 }, {
        status: 200,
        text: "fine"
      })
      const model = modelOver(TransportRetry.transform(client, { schedule: Schedule.forever }))
      const { exit } = yield* timed(Agent.make("a", { onModelError }).run("x").pipe(Effect.provide(model)))
      assert.deepStrictEqual([exit, state.requests], [Exit.succeed("fine"), 4])
    }))

  it.effect("is retried if the transport makes one attempt", () =>
    Effect.gen(function*() {
      const { client, state } = scripted({ status: 503 })
      const model = modelOver(TransportRetry.transform(client, { attempts: 1 }))
      yield* timed(Agent.make("a", { onModelError }).run("x").pipe(Effect.provide(model)))
      assert.strictEqual(state.requests, 3)
    }))

  it.effect("does not count for a later call with the same object", () =>
    Effect.gen(function*() {
      const error = unavailable()
      let calls = 0
      const failing = Layer.effect(
        LanguageModel.LanguageModel,
        LanguageModel.make({
          generateText: () => Effect.suspend(() => (calls++, Effect.fail(error))),
          streamText: () => ({}) as never
        })
      )
      const agent = Agent.make("a", { onModelError })
      for (const all of [3, 6, 9]) {
        yield* timed(agent.run("x").pipe(Effect.provide(failing)))
        assert.strictEqual(calls, all)
      }
    }))
})

describe("a tool whose request was repeated", () => {
  it.effect("is retried if its own error does not contain the request's", () =>
    Effect.gen(function*() {
      const { client, state } = scripted({ status: 503 })
      const retrying = TransportRetry.transform(client, { schedule: Schedule.forever })
      const fails = (wrap: (cause: unknown) => unknown) =>
        Tool.make("look", {
          success: Schema.Void,
          effects: "read",
          execute: () =>
            Effect.flatMap(retrying.get("http://localhost/"), HttpClientResponse.filterStatusOk).pipe(
              Effect.asVoid,
              Effect.mapError(wrap)
            )
        }).pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever, while: () => true })))
      const requests = (wrap: (cause: unknown) => unknown) =>
        Effect.gen(function*() {
          state.requests = 0
          yield* timed(
            Agent.make("a", { tools: [fails(wrap)], defaults: { onError: Recovery.keepGoing } }).run("x").pipe(
              Effect.provide(ScriptedModel.layer([ScriptedModel.call("look", {}), ScriptedModel.text("ok")]))
            )
          )
          return state.requests
        })
      assert.strictEqual(yield* requests((cause) => cause), 3)
      assert.strictEqual(yield* requests((cause) => new Error("down", { cause })), 3)
      assert.strictEqual(yield* requests(() => "down"), 9)
    }))
})
