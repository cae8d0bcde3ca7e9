/** The model: a script without a key, or the one that `.env` names. */
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { ScriptedModel } from "@recourse/testing"
import { Layer } from "effect"
import { FetchHttpClient } from "effect/http"

/** Looks for order 7, and answers with the result. */
const script = ScriptedModel.layer(({ prompt }) => {
  const last = prompt.content.at(-1)
  if (last?.role !== "tool") return ScriptedModel.call("find_order", { order: 7 })
  const [part] = last.content
  const isFound = part?.type === "tool-result" && !part.isFailure
  return ScriptedModel.text(isFound ? String(part.result) : "I could not look at your order. Please try again later.")
})

const real = OpenAiCompatible.layerConfig().pipe(Layer.provide(FetchHttpClient.layer))

export const Model = (process.env["LLM_MODEL"] ?? "") === "" ? script : real
