/**
 * Exchange of one request with its server. A server that refuses native tools is sent the same request with inline ones, and the client
 * remembers that for the model.
 */
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as Result from "effect/Result"
import type * as TransportRetry from "@recourse/core/TransportRetry"
import type { Settings } from "../Settings.ts"
import type { ToolMode } from "./answer/answer.ts"
import type * as Connection from "./connection/connection.ts"
import * as ErrorCodes from "./connection/errorCodes.ts"
import * as ProviderError from "./connection/providerError.ts"
import type { Target } from "./connection/target.ts"
import * as ToolRefusal from "./connection/toolRefusal.ts"
import * as ChatRequest from "./request/chatRequest.ts"

export interface Options {
  readonly client: HttpClient.HttpClient
  /** The models that have refused native tools. */
  readonly inlineModels: Set<string>
  readonly maxBodySize: number
  readonly request: LanguageModel.ProviderOptions
  readonly retry: TransportRetry.Options | false | undefined
  readonly settings: Settings
  readonly stream: boolean
  readonly target: Target
}

/** An answer, and how the tools of its request were offered. */
export interface Answered<A> {
  readonly answer: A
  readonly toolMode: ToolMode
}

/** Sends a request in one of the ways of `Connection`. */
type Run<A, R> = (body: string, connection: Connection.Options) => Effect.Effect<A, AiError.AiErrorReason, R>

/** Makes the exchange of one request. */
export const make = (options: Options) => {
  const { client, inlineModels, maxBodySize, request, retry, settings, stream, target } = options

  const connection = (toolMode: ToolMode): Connection.Options => ({
    client,
    target,
    maxBodySize,
    limits: settings,
    retry: retry === false ? false : {
      ...retry,
      shouldRetry: (answer) => {
        if (answer._tag === "Received" && answer.status >= 400) {
          const codes = ErrorCodes.codesOfBody(answer.body)
          if (ProviderError.isQuota(answer.status, codes)) return false
          if (toolMode === "native" && ToolRefusal.matches(answer, request, target)) return false
        }
        return retry?.shouldRetry?.(answer)
      }
    }
  })

  const once = <A, R>(
    run: Run<A, R>,
    toolMode: ToolMode
  ): Effect.Effect<Answered<A>, AiError.AiErrorReason, R> => {
    const { quirks, server } = target
    const body = ChatRequest.make(request, { quirks, settings, model: target.model, server, stream, toolMode })
    return Result.isFailure(body)
      ? Effect.fail(body.failure)
      : Effect.map(run(body.success, connection(toolMode)), (answer) => ({ answer, toolMode }))
  }

  return <A extends Connection.Received | Connection.Opened, R>(
    run: Run<A, R>
  ): Effect.Effect<Answered<A>, AiError.AiErrorReason, R> =>
    Effect.flatMap(once(run, inlineModels.has(target.model) ? "inline" : target.quirks.tools), (first) => {
      if (first.toolMode === "inline" || !ToolRefusal.matches(first.answer, request, target)) {
        return Effect.succeed(first)
      }
      return Effect.match(once(run, "inline"), {
        onFailure: () => first,
        onSuccess: (second) => {
          if (second.answer.status >= 300) return first
          inlineModels.add(target.model)
          return second
        }
      })
    })
}
