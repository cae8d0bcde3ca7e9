/** Texts for the user when a turn ends without an answer of the model: fixed sentences, in the user's language. */
import { Effect, Layer } from "effect"
import { Catalogue, ErrorProjection } from "@recourse/core"
import { MissingInformation } from "./missing.ts"

/** The sentences that Recourse has, and a question for each argument that users know. */
export const layer: Layer.Layer<never> = Layer.succeed(Catalogue.Catalogue, {
  en: {
    ...Catalogue.en,
    missing_orderId: "Which order is it about? Please tell me its number.",
    missing_reason: "Why should it be refunded?"
  },
  zh: {
    ...Catalogue.zh,
    missing_orderId: "请问是哪个订单？请告诉我订单号。",
    missing_reason: "请问退款的原因是什么？"
  }
})

const questions = new Set(["orderId", "reason"])

/** The sentence for the error that ended a turn. */
export const sentence = (error: unknown, runId: string): Effect.Effect<string> =>
  error instanceof MissingInformation
    ? Effect.map(
      ErrorProjection.userTexts,
      (text) => text(questions.has(error.field) ? `missing_${error.field}` : "missing_required_field")
    )
    : Effect.map(ErrorProjection.forUser(error, runId), ({ message }) => message)
