/** A server over durable runs: two processes, one store. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation, ModelProvider } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Context, Effect, Exit, Layer, Scope, Stream } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import { headersOf, type Options, serve } from "../support/kit.ts"

const message = (text: string) => ({
  id: "t1",
  trigger: "submit-message",
  messages: [{ id: `m ${text}`, role: "user", parts: [{ type: "text", text }] }]
})

const words = ["It ", "is ", "written ", "slowly."]

/** A model that writes a word each 120 milliseconds. */
const Slowly = Layer.effect(
  LanguageModel.LanguageModel,
  ModelProvider.make({
    generateText: () => Effect.die("asked for no stream"),
    streamText: () =>
      Stream.make({ type: "text-start", id: "t" } as const).pipe(
        Stream.concat(
          Stream.mapEffect(
            Stream.fromIterable(words),
            (delta) => Effect.as(Effect.sleep("120 millis"), { type: "text-delta", id: "t", delta } as const)
          )
        ),
        Stream.concat(Stream.make(
          { type: "text-end", id: "t" } as const,
          {
            type: "finish",
            reason: "stop",
            usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
            response: undefined
          } as const
        ))
      )
  })
)

describe("durable runs", () => {
  it.live("one server asks an approval, another receives it later", () =>
    Effect.gen(function*() {
      const shared = yield* Layer.build(Layer.merge(RunStore.layerMemory, Conversation.layerMemory))
      const options: Options = {
        runs: (agent) =>
          Durable.layer([Durable.make(agent, { input: Prompt.Prompt })], { poll: "20 millis" }).pipe(
            Layer.provide(Layer.succeedContext(Context.pick(RunStore.RunStore)(shared)))
          ),
        conversations: Layer.succeedContext(Context.pick(Conversation.Conversations)(shared))
      }
      const first = yield* Scope.make()
      const one = yield* Scope.provide(
        serve([ScriptedModel.text("Hello."), ScriptedModel.call("pay", { amount: 500 })], options),
        first
      )
      assert.include((yield* one.post("/agents/clerk/chat", message("Hi"))).text, "Hello.")
      const asked = yield* one.post("/agents/clerk/chat", message("Pay 500"))
      const id = /"approvalId":"([^"]+)"/.exec(asked.text)![1]!
      yield* Scope.close(first, Exit.void)

      const two = yield* serve([ScriptedModel.text("Paid.")], options)
      const answer = {
        id: "t1",
        trigger: "submit-message",
        messages: [{
          id: "a",
          role: "assistant",
          parts: [{ type: "dynamic-tool", state: "approval-responded", approval: { id, approved: true } }]
        }]
      }
      const told = yield* two.post("/agents/clerk/chat", answer)
      assert.include(told.text, "paid 500")
      assert.include(told.text, "Paid.")
      assert.deepStrictEqual([...one.world.deeds, ...two.world.deeds], ["pay 500"])
      const { messages } = (yield* two.get("/threads/t1")).json() as { messages: ReadonlyArray<{ role: string }> }
      assert.deepStrictEqual(messages.map(({ role }) => role), ["user", "assistant", "user", "assistant"])
      const { prompt } = yield* two.model.lastRequest
      assert.deepStrictEqual(prompt.content.map(({ role }) => role), ["user", "assistant", "user", "assistant", "tool"])
    }))

  it.live("an answer streams from a server that does not run it", () =>
    Effect.gen(function*() {
      const store = Layer.succeedContext(yield* Layer.build(RunStore.layerMemory))
      const durable = (agent: Parameters<NonNullable<Options["runs"]>>[0]) =>
        Durable.make(agent, { input: Prompt.Prompt })
      yield* serve([], {
        runs: (agent) => Durable.layer([durable(agent)], { poll: "20 millis" }).pipe(Layer.provide([store, Slowly]))
      })
      const front = yield* serve([], {
        runs: (agent) => Durable.layerClient([durable(agent)], { poll: "20 millis" }).pipe(Layer.provide(store))
      })
      const { text } = yield* front.post("/agents/clerk/chat", message("Hi"))
      const deltas = [...text.matchAll(/"type":"text-delta","id":"[^"]+","delta":"([^"]+)"/g)].map(([, delta]) =>
        delta!
      )
      assert.isAtLeast(deltas.length, 3)
      assert.strictEqual(deltas.join(""), words.join(""))
    }))

  it.live("a queued run is followed and stopped like a running one", () =>
    Effect.gen(function*() {
      const store = Layer.succeedContext(yield* Layer.build(RunStore.layerMemory))
      const front = yield* serve([], {
        runs: (agent) =>
          Durable.layerClient([Durable.make(agent, { input: Prompt.Prompt })], { poll: "20 millis" }).pipe(
            Layer.provide(store)
          )
      })
      const runId = (yield* front.post("/runs", { agent: "clerk", message: "Hi", threadId: "t1" })).json()["runId"]
      assert.strictEqual((yield* front.runs.get(runId)).status, "queued")
      const page = new AbortController()
      const { status } = yield* Effect.promise(() =>
        fetch(`${front.url}/agents/clerk/chat/t1/stream`, { signal: page.signal, headers: headersOf("ada") })
      )
      page.abort()
      assert.strictEqual(status, 200)
      assert.strictEqual((yield* front.post("/agents/clerk/chat/t1/stop", {})).status, 204)
      assert.strictEqual((yield* front.runs.get(runId)).status, "cancelled")
    }))

  for (const isOver of [true, false]) {
    it.live(`the next server stores a gone server's run: it ${isOver ? "has ended" : "continues"} there`, () =>
      Effect.gen(function*() {
        const store = Layer.succeedContext(yield* Layer.build(RunStore.layerMemory))
        const conversations = Layer.succeedContext(yield* Layer.build(Conversation.layerMemory))
        const durable = (agent: Parameters<NonNullable<Options["runs"]>>[0]) =>
          Durable.make(agent, { input: Prompt.Prompt })
        yield* serve([], {
          runs: (agent) => Durable.layer([durable(agent)], { poll: "20 millis" }).pipe(Layer.provide([store, Slowly]))
        })
        const front: Options = {
          runs: (agent) => Durable.layerClient([durable(agent)], { poll: "20 millis" }).pipe(Layer.provide(store)),
          conversations
        }
        const scope = yield* Scope.make()
        const one = yield* Scope.provide(serve([], front), scope)
        const page = new AbortController()
        yield* Effect.promise(() =>
          fetch(`${one.url}/agents/clerk/chat`, {
            method: "POST",
            signal: page.signal,
            headers: { "content-type": "application/json", ...headersOf("ada") },
            body: JSON.stringify(message("Hi"))
          })
        )
        page.abort()
        yield* Scope.close(scope, Exit.void)

        const two = yield* serve([], front)
        if (isOver) yield* Effect.sleep("1 second")
        const second = yield* two.post("/agents/clerk/chat", message("And now"))
        if (!isOver) {
          assert.strictEqual(second.status, 409)
          yield* Effect.sleep("1 second")
          yield* two.post("/agents/clerk/chat", message("And now"))
        }
        const { entries } = yield* Effect.flatMap(
          Conversation.Conversations,
          (all) => all.read({ owner: "ada", thread: "t1" })
        ).pipe(Effect.provide(conversations))
        assert.deepStrictEqual(
          Conversation.toPrompt(entries).content.map(({ role }) => role),
          ["user", "assistant", "user", "assistant"]
        )
      }))
  }
})
