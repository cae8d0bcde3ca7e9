/** Requests of a form to a model, their answers and refusals. */

import type { Context } from "effect"
import { Effect, Schema, Stream } from "effect"
import type { AiError, LanguageModel, Toolkit } from "effect/ai"
import { IdGenerator, Prompt, type Response, Tool } from "effect/ai"
import { ModelProvider } from "@recourse/core"
import { finish } from "./parts.ts"

export const room = new URL("../../src/internal/model/", import.meta.url)

export interface Request {
  readonly prompt: Prompt.Prompt
  readonly toolkit: Toolkit.Any
  readonly toolChoice?: LanguageModel.ToolChoice<string>
  readonly format?: { readonly objectName: string; readonly schema: Schema.Top; readonly prefer: "tools" | "format" }
}

export type Answered = ReadonlyArray<Response.AnyPart>

export const ModelRequest = await import(new URL("sendRequest.ts", room).href) as {
  readonly generate: (
    model: LanguageModel.LanguageModel,
    request: Request,
    context: Context.Context<never>
  ) => Effect.Effect<Answered, AiError.AiError, IdGenerator.IdGenerator>
  readonly listen: (
    model: LanguageModel.LanguageModel,
    request: Request,
    context: Context.Context<never>,
    onParts: (parts: Answered) => Effect.Effect<void>
  ) => Effect.Effect<void, AiError.AiError, IdGenerator.IdGenerator>
}

export const Title = Schema.Struct({ title: Schema.String })

export const Echo = Tool.make("echo", { parameters: Schema.Struct({ text: Schema.String }), success: Schema.String })

export const prompt = Prompt.make("Hi")

export const form = (prefer: "tools" | "format", objectName = "answer") => ({ objectName, schema: Title, prefer })

export type Sent = LanguageModel.ProviderOptions

export type Parts = ReadonlyArray<Response.PartEncoded>

/** A model that answers with a function's values, and its requests. `direct`: true if its hooks are called. */
export const asked = Effect.fnUntraced(function*(
  answer: (sent: Sent, index: number) => Effect.Effect<Parts, AiError.AiError>,
  more: Partial<ModelProvider.Hooks> = {}
) {
  const sent: Array<Sent> = []
  const reply = (options: Sent) =>
    Effect.suspend(() => {
      sent.push(options)
      return answer(options, sent.length - 1)
    })
  const model = yield* ModelProvider.make({
    generateText: (options) => Effect.map(reply(options), (parts) => [...parts]),
    streamText: (options) =>
      Stream.unwrap(Effect.map(reply(options), (parts) => Stream.fromIterable(parts as ReadonlyArray<never>))),
    ...more
  })
  return { model, sent }
})

/** The answer of a model to a request, whole or streamed, past `LanguageModel` or through it. */
export const answerOf = (
  model: LanguageModel.LanguageModel,
  request: Request,
  { direct = true, streamed = false }: { readonly direct?: boolean; readonly streamed?: boolean } = {}
): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError> => {
  const run = Effect.contextWith((context: Context.Context<never>) =>
    streamed
      ? Effect.suspend(() => {
        const heard: Array<Response.AnyPart> = []
        return Effect.as(
          ModelRequest.listen(model, request, context, (parts) => Effect.sync(() => heard.push(...parts))),
          heard as ReadonlyArray<Response.AnyPart>
        )
      })
      : ModelRequest.generate(model, request, context)
  )
  return (direct ? Effect.withSpan(run, "turn") : run).pipe(
    Effect.provideService(IdGenerator.IdGenerator, IdGenerator.defaultIdGenerator)
  )
}

export const said = (text: string): Parts => [{ type: "text", text }, finish("stop")]
