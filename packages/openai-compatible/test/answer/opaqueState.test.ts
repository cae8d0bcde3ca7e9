/** State that a server attaches to calls and messages goes back to that server unchanged, and to no other one. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Conversation, History, Recovery, Tool } from "@recourse/core"
import type { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Layer, Redacted, Schema, Stream } from "effect"
import { Prompt, type Response } from "effect/ai"
import type { HttpClientRequest } from "effect/http"
import { answering, generate, type Reply, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

type Fields = Readonly<Record<string, unknown>>

const call = (fields: Fields = {}, ofFunction: Fields = {}) => ({
  index: 0,
  id: "a",
  type: "function",
  function: { name: "now", arguments: "{}", ...ofFunction },
  ...fields
})

const signature = { google: { thought_signature: "c2ln\u00e9==" } }

/** Pieces of a message as a server streams it, and the message that the server expects back. */
const kinds: Readonly<Record<string, { readonly pieces: ReadonlyArray<Fields>; readonly back: Fields }>> = {
  "a signature beside a call": {
    pieces: [{ tool_calls: [call({ extra_content: signature })] }],
    back: { tool_calls: [{ ...call({ extra_content: signature }), index: undefined }] }
  },
  "a field within the function": {
    pieces: [{ tool_calls: [call({}, { provider_state: [1, { a: null }] })] }],
    back: { tool_calls: [{ ...call({}, { provider_state: [1, { a: null }] }), index: undefined }] }
  },
  "a signature beside text": {
    pieces: [{ content: "Hel" }, { content: "lo", extra_content: signature }],
    back: { content: "Hello", extra_content: signature }
  },
  "details of reasoning, in pieces": {
    pieces: [
      { reasoning_details: [{ type: "reasoning.text", text: "I ", format: "f-v1", index: 0 }] },
      { reasoning_details: [{ type: "reasoning.text", text: "see", format: "f-v1", index: 0 }] },
      { reasoning_details: [{ type: "reasoning.text", signature: "s", format: "f-v1", index: 0 }] },
      { reasoning_details: [{ type: "reasoning.encrypted", data: "x", id: "r", index: 1 }] },
      { tool_calls: [call()] }
    ],
    back: {
      reasoning_details: [
        { type: "reasoning.text", text: "I see", format: "f-v1", index: 0, signature: "s" },
        { type: "reasoning.encrypted", data: "x", id: "r", index: 1 }
      ]
    }
  },
  "reasoning content beside a call": {
    pieces: [{ reasoning_content: "Hm" }, { tool_calls: [call()] }],
    back: { reasoning_content: "Hm" }
  },
  "a signed thought in the content": {
    pieces: [
      { content: [{ type: "thinking", thinking: "Hm", signature: "s" }] },
      { content: [{ type: "text", text: "Hel" }] },
      { content: "lo" }
    ],
    back: { content: [{ type: "thinking", thinking: "Hm", signature: "s" }, { type: "text", text: "Hello" }] }
  },
  "a field of tomorrow": {
    pieces: [{ content: "Hi", x_state: { deep: ["\u0000", 1e21, true] } }],
    back: { content: "Hi", x_state: { deep: ["\u0000", 1e21, true] } }
  }
}

const streamOf = (pieces: ReadonlyArray<Fields>): Reply => ({
  type: "text/event-stream",
  body: [...pieces.map((piece) => Server.chunk(piece)), Server.chunk({}, "stop"), Server.done].join("")
})

/** The message as the server would answer it whole. */
const wholeOf = ({ back, pieces }: (typeof kinds)[string]): Reply => {
  const tool_calls = pieces.flatMap((piece) => piece["tool_calls"] as ReadonlyArray<Fields> ?? [])
  const message = { content: null, ...back, ...(tool_calls.length > 0 ? { tool_calls } : {}) }
  return { body: JSON.stringify({ choices: [{ message, finish_reason: "stop" }] }) }
}

const said: Reply = { body: JSON.stringify({ choices: [{ message: { content: "done" }, finish_reason: "stop" }] }) }

const bodyOf = (request: HttpClientRequest.HttpClientRequest | undefined) => {
  const body = request?.body
  assert.strictEqual(body?._tag, "Uint8Array")
  return JSON.parse(new TextDecoder().decode((body as { readonly body: Uint8Array }).body)) as {
    readonly messages: ReadonlyArray<Fields>
  }
}

/** The assistant message that a server is sent after it answered so. */
const sentBack = (reply: Reply, isStreamed: boolean, next: Partial<OpenAiCompatible.Options> = {}) =>
  Effect.gen(function*() {
    const parts = isStreamed
      ? yield* Stream.runCollect(stream()).pipe(Effect.provide(answering(reply)))
      : (yield* generate().pipe(Effect.provide(answering(reply)))).content
    const history = Prompt.concat(Prompt.make("Hi"), Prompt.fromResponseParts(parts as ReadonlyArray<Response.AnyPart>))
    // A store keeps JSON.
    const stored = Schema.decodeSync(Schema.fromJsonString(Prompt.Prompt))(
      Schema.encodeSync(Schema.fromJsonString(Prompt.Prompt))(history)
    )
    const seen: Array<HttpClientRequest.HttpClientRequest> = []
    yield* generate(Prompt.concat(stored, "Go on")).pipe(Effect.provide(answering(said, next, seen)))
    return bodyOf(seen[0]).messages.find(({ role }) => role === "assistant")!
  })

describe("the state of a server", () => {
  for (const [title, kind] of Object.entries(kinds)) {
    for (const isStreamed of [false, true]) {
      it.effect(`returns as ${title}, ${isStreamed ? "streamed" : "whole"}`, () =>
        Effect.gen(function*() {
          const reply = isStreamed ? streamOf(kind.pieces) : wholeOf(kind)
          const message = yield* sentBack(reply, isStreamed)
          for (const [name, value] of Object.entries(kind.back)) {
            assert.deepStrictEqual(message[name], JSON.parse(JSON.stringify(value)), name)
          }
          const elsewhere = yield* sentBack(reply, isStreamed, { baseUrl: "http://other/v1" })
          assert.deepStrictEqual(
            Object.keys(elsewhere).filter((name) => !["role", "content", "tool_calls"].includes(name)),
            []
          )
          const sent = JSON.stringify(elsewhere)
          for (const secret of ["c2ln", "provider_state", "signature", "Hm", "I see"]) assert.notInclude(sent, secret)
        }))
    }
  }
})

describe("the state of a call", () => {
  const signed = (id: string): Reply => ({
    body: JSON.stringify({
      choices: [{
        message: {
          content: null,
          tool_calls: [{ ...call({ extra_content: { signature: id } }, { name: "pay" }), id }]
        },
        finish_reason: "tool_calls"
      }]
    })
  })
  const pay = (needsApproval: boolean) =>
    Tool.make("pay", { success: Schema.String, effects: "write", needsApproval, execute: () => Effect.succeed("paid") })
  const key = Approval.layerKey(Redacted.make("k".repeat(32)))
  const agentOf = () => Agent.make("payer", { tools: [pay(true)], defaults: { onError: Recovery.standard } })
  const signaturesIn = (request: HttpClientRequest.HttpClientRequest | undefined) =>
    bodyOf(request).messages.flatMap(({ tool_calls }) =>
      (tool_calls as ReadonlyArray<Fields> ?? []).map(({ extra_content }) => extra_content)
    )

  it.effect("returns after a pause and a restart", () =>
    Effect.gen(function*() {
      const seen: Array<HttpClientRequest.HttpClientRequest> = []
      const model = Layer.merge(answering([signed("a"), said], {}, seen), key)
      const paused = yield* agentOf().start("Pay").pipe(Effect.provide(model))
      if (paused._tag !== "Paused") return assert.fail("it does not pause")
      const snapshot = JSON.parse(JSON.stringify(paused.snapshot)) as typeof paused.snapshot
      yield* agentOf().resume(snapshot, paused.pending.map((call) => Approval.approve(call))).pipe(
        Effect.provide(model)
      )
      assert.deepStrictEqual(signaturesIn(seen[1]), [{ signature: "a" }])
    }))

  it.effect("returns in a later message of a thread, compacted or not", () =>
    Effect.gen(function*() {
      const seen: Array<HttpClientRequest.HttpClientRequest> = []
      const model = answering([signed("a"), said, signed("b"), said], {}, seen)
      const agent = Agent.make("payer", {
        input: Prompt.Prompt,
        prompt: (conversation) => conversation,
        tools: [pay(false)],
        defaults: { onError: Recovery.standard },
        compact: { maxTokens: 1, by: History.trimResults({ keep: 0, characters: 2 }) }
      })
      const chat = { thread: "c1", owner: "ada" }
      yield* Effect.gen(function*() {
        yield* Conversation.send(agent, { ...chat, message: "Pay" })
        yield* Conversation.send(agent, { ...chat, message: "Pay once more" })
      }).pipe(Effect.provide(Layer.mergeAll(model, Conversation.layerMemory, key)))
      assert.deepStrictEqual(signaturesIn(seen[3]), [{ signature: "a" }, { signature: "b" }])
    }))
})
