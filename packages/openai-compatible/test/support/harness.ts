import { assert } from "@effect/vitest"
import { Effect, Layer, Redacted, Schedule, Schema, Stream } from "effect"
import type { Prompt } from "effect/ai"
import { IdGenerator, LanguageModel, Tool, Toolkit } from "effect/ai"
import { FetchHttpClient, HttpClient, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { OpenAiCompatible } from "@recourse/openai-compatible"

export const key = "sk-test-0123456789"

export const Parse = Tool.make("parse", {
  description: "Count the keys",
  parameters: Schema.Struct({ json: Schema.String }),
  success: Schema.Int
})
export const Now = Tool.make("now", { success: Schema.String })
export const tools = Toolkit.make(Parse, Now)

/** Ids in order, so that parts can be compared. */
export const ids = Layer.sync(IdGenerator.IdGenerator, () => {
  let count = 0
  return { generateId: () => Effect.sync(() => `id_${++count}`) }
})

/** A short backoff, so that tests on real servers wait little. */
export const quick = { retry: { schedule: Schedule.spaced("5 millis") } } satisfies Partial<OpenAiCompatible.Options>

export const model = (baseUrl: string, options: Partial<OpenAiCompatible.Options> = {}) =>
  OpenAiCompatible.layer({ baseUrl, model: "test-model", apiKey: Redacted.make(key), ...quick, ...options }).pipe(
    Layer.provide([FetchHttpClient.layer, ids])
  )

export const generate = (prompt: Prompt.RawInput = "Hello") =>
  LanguageModel.generateText({
    prompt,
    toolkit: tools,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  })

export const stream = (prompt: Prompt.RawInput = "Hello") =>
  LanguageModel.streamText({
    prompt,
    toolkit: tools,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  })

/** Everything that a stream emits, and the error that ends it. */
export const observe = <A, E, R>(self: Stream.Stream<A, E, R>) =>
  Effect.gen(function*() {
    const parts: Array<A> = []
    const error = yield* self.pipe(
      Stream.runForEach((part) =>
        Effect.sync(() => {
          parts.push(part)
        })
      ),
      Effect.match({ onFailure: (error) => error, onSuccess: () => undefined })
    )
    return { parts: parts.map(plain), error }
  })

/** A part without the fields that every part has. */
export const plain = (part: unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(JSON.parse(JSON.stringify(part)) as Record<string, unknown>).filter(([name, value]) =>
      !name.startsWith("~") && name !== "providerExecuted" &&
      !(name === "metadata" && Object.keys(value as object).length === 0)
    )
  )

/** A client that answers with these bytes in these pieces, without a socket. */
export const bytesClient = (pieces: ReadonlyArray<Uint8Array>) =>
  Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request) =>
      Effect.sync(() => {
        let next = 0
        const body = new ReadableStream<Uint8Array>({
          pull: (controller) => {
            const piece = pieces[next++]
            if (piece === undefined) controller.close()
            else controller.enqueue(piece)
          }
        })
        return HttpClientResponse.fromWeb(
          request,
          new Response(body, { headers: { "content-type": "text/event-stream" } })
        )
      })
    )
  )

export interface Reply {
  /** The type of the body, unless it is JSON; `null` is none. */
  readonly type?: string | null
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | ReadonlyArray<Uint8Array> | null
}

/** A model over a client that answers so, without a socket: once, or with each answer in turn and the last again and again. */
export const answering = (
  replies: Reply | ReadonlyArray<Reply>,
  options: Partial<OpenAiCompatible.Options> = {},
  seen: Array<HttpClientRequest.HttpClientRequest> = []
) => {
  const all: ReadonlyArray<Reply> = "body" in replies ? [replies] : replies
  const client = HttpClient.make((request) =>
    Effect.sync(() => {
      const { body, headers, status = 200, type = "application/json" } = all[Math.min(seen.length, all.length - 1)]!
      seen.push(request)
      const bytes = typeof body === "string" ? [new TextEncoder().encode(body)] : body
      const stream = bytes === null ? null : new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (const piece of bytes) controller.enqueue(piece)
          controller.close()
        }
      })
      return HttpClientResponse.fromWeb(
        request,
        new Response(stream, { status, headers: { ...(type === null ? {} : { "content-type": type }), ...headers } })
      )
    })
  )
  return OpenAiCompatible.layer({ baseUrl: "http://host/v1", model: "m", retry: false, ...options }).pipe(
    Layer.provide([Layer.succeed(HttpClient.HttpClient, client), ids])
  )
}

type Part = Readonly<Record<string, unknown>>

/** Blocks of a stream joined to the parts of a whole answer. Announced calls grow to their final values. */
export const joined = (parts: ReadonlyArray<Part>, areAnnounced: boolean): ReadonlyArray<Part> => {
  const calls = new Map<unknown, { readonly name: unknown; text: string; ended: boolean }>()
  const open = new Map<unknown, { readonly type: string; text: string }>()
  const out: Array<Part> = []
  for (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const block = { type: part.type.slice(0, -"-start".length), text: "" }
        open.set(part.id, block)
        out.push(block)
        break
      }
      case "text-delta":
      case "reasoning-delta":
        assert.notStrictEqual(part.delta, "")
        open.get(part.id)!.text += part.delta as string
        break
      case "text-end":
      case "reasoning-end":
        if (part.metadata !== undefined) Object.assign(open.get(part.id)!, { metadata: part.metadata })
        assert.isTrue(open.delete(part.id))
        break
      case "tool-params-start":
        assert.isFalse(calls.has(part.id))
        calls.set(part.id, { name: part.name, text: "", ended: false })
        break
      case "tool-params-delta":
        assert.notStrictEqual(part.delta, "")
        calls.get(part.id)!.text += part.delta as string
        break
      case "tool-params-end":
        calls.get(part.id)!.ended = true
        break
      case "tool-call": {
        out.push(part)
        if (!areAnnounced) break
        const { ended, name, text } = calls.get(part.id) ?? {}
        assert.deepStrictEqual([name, ended], [part.name, true])
        const { params } = part
        if (typeof params !== "string") assert.deepStrictEqual(JSON.parse(text || "{}") ?? {}, params)
        else assert.strictEqual(text, params)
        break
      }
      default:
        out.push(part)
    }
  }
  assert.strictEqual(open.size, 0)
  return out
}
