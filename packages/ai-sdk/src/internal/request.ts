/** Call options of one request to an AI SDK model. */
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import { oncePerDialect } from "./dialect.ts"
import * as Errors from "./errors.ts"
import { toPrompt, urlsIn } from "./prompt.ts"
import { isProviderDefined, toToolChoice, toTools } from "./tools.ts"

/** The part of a call that comes from effect/ai's options. */
export const toCallOptions = Effect.fnUntraced(function*(
  model: LanguageModelV4,
  method: Errors.Method,
  options: LanguageModel.ProviderOptions,
  transformer: LanguageModel.CodecTransformer
): Effect.fn.Return<LanguageModelV4CallOptions, AiError.AiError> {
  const freeForm = new Set(options.tools.filter(isProviderDefined).map((tool) => tool.name))
  const prompt = yield* Effect.try({
    try: () => toPrompt(options.prompt, (tool) => freeForm.has(tool)),
    catch: (error) => unsendable(method, error)
  })
  yield* checkUrls(model, method, prompt)
  const tools = yield* express(method, () => toTools(options.tools, transformer))
  const responseFormat = yield* express(method, () => toResponseFormat(options.responseFormat, transformer))
  return {
    prompt,
    ...responseFormat,
    ...(tools.length === 0 ? undefined : { tools, toolChoice: toToolChoice(options.toolChoice) })
  }
})

const unsendable = (method: Errors.Method, error: unknown) =>
  Errors.make(
    method,
    new AiError.InvalidUserInputError({
      description: `The prompt holds a value that cannot be sent (${
        error instanceof Error ? error.name : typeof error
      })`
    })
  )

const express = <A>(method: Errors.Method, evaluate: () => A): Effect.Effect<A, AiError.AiError> =>
  Effect.try({
    try: evaluate,
    catch: (error) =>
      Errors.make(
        method,
        new AiError.UnsupportedSchemaError({ description: error instanceof Error ? error.message : String(error) })
      )
  })

const jsonSchemaOf = oncePerDialect((schema: Schema.Top, transformer) =>
  transformer(schema as Schema.Codec<unknown>).jsonSchema
)

const toResponseFormat = (
  format: LanguageModel.ProviderOptions["responseFormat"],
  transformer: LanguageModel.CodecTransformer
): Pick<LanguageModelV4CallOptions, "responseFormat"> => {
  if (format.type === "text") return {}
  const description = SchemaAST.resolveDescription(format.schema.ast)
  return {
    responseFormat: {
      type: "json",
      // providers allow only these characters in a name, and 64 of them
      name: format.objectName.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64),
      schema: jsonSchemaOf(format.schema, transformer),
      ...(description === undefined ? undefined : { description })
    }
  }
}

// The AI SDK downloads files that a model cannot fetch. This adapter does not: a URL in a prompt may come from anywhere.
const checkUrls = (
  model: LanguageModelV4,
  method: Errors.Method,
  prompt: LanguageModelV4CallOptions["prompt"]
): Effect.Effect<void, AiError.AiError> => {
  const urls = urlsIn(prompt)
  return urls.length === 0 ? Effect.void : checkEach(model, method, urls)
}

const checkEach = Effect.fnUntraced(function*(
  model: LanguageModelV4,
  method: Errors.Method,
  urls: ReturnType<typeof urlsIn>
) {
  const supported = yield* Errors.attempt(method, async () => model.supportedUrls)
  for (const { mediaType, url } of urls) {
    if (isSupported(supported, mediaType, url)) continue
    return yield* Effect.fail(Errors.make(
      method,
      new AiError.InvalidUserInputError({
        description: `The model does not fetch ${mediaType} files from ${url.origin}; read the file and pass its bytes`
      })
    ))
  }
})

/** Keys are media types, perhaps with a wildcard: `*`, `image/*`, `application/pdf`. */
const isSupported = (supported: Record<string, ReadonlyArray<RegExp>>, mediaType: string, url: URL): boolean =>
  Object.entries(supported).some(([pattern, urls]) => {
    const wanted = mediaType.toLowerCase().replace(/\/\*$/, "/")
    const prefix = pattern === "*/*" ? "" : pattern.toLowerCase().replace(/\*$/, "")
    const matches = pattern.includes("*") ? wanted.startsWith(prefix) || `${wanted}/` === prefix : wanted === prefix
    return matches &&
      urls.some((expression) => url.href.search(expression) >= 0)
  })
