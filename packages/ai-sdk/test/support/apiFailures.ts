/** Failures of a provider package, and the decision about each. */

import { APICallError } from "@ai-sdk/provider"
import { AiSdk } from "@recourse/ai-sdk"
import { Effect } from "effect"
import { type AiError, LanguageModel } from "effect/ai"
import { v4 } from "./models.ts"

export const failureOf = (thrown: unknown): Effect.Effect<AiError.AiError> =>
  LanguageModel.generateText({ prompt: "Hi" }).pipe(
    Effect.matchEffect({ onFailure: Effect.succeed, onSuccess: () => Effect.die("it should have failed") }),
    Effect.provide(AiSdk.layer(v4({ fail: thrown }).model))
  )

export const api = (options: Partial<ConstructorParameters<typeof APICallError>[0]>) =>
  new APICallError({ message: "prose", url: "https://api.example/v1", requestBodyValues: {}, ...options })

/** The tag of a reason, and its other fields that decide a program's reaction. */
export const wordsOf = ({ isRetryable, reason }: AiError.AiError): string =>
  [
    reason._tag.replace(/Error$/, ""),
    ...(reason._tag === "AuthenticationError" ? [reason.kind] : []),
    ...(reason._tag === "InvalidRequestError" && reason.parameter !== undefined ? [reason.parameter] : []),
    ...(isRetryable ? ["again"] : [])
  ].join(" ")

export const factsOf = ({ reason }: AiError.AiError): Readonly<Record<string, unknown>> | undefined =>
  "metadata" in reason ? reason.metadata["aiSdk"] as Readonly<Record<string, unknown>> : undefined
