import { Effect, Layer, Redacted, Schedule, Schema, Stream } from "effect"
import type { Prompt } from "effect/ai"
import { IdGenerator, LanguageModel, Tool, Toolkit } from "effect/ai"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
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
