/** The model of development: the one that is named, or a scripted one that needs no key. */
import * as Layer from "effect/Layer"
import type { LanguageModel } from "effect/ai/LanguageModel"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as OpenAiCompatible from "@recourse/openai-compatible/OpenAiCompatible"
import * as Presets from "@recourse/openai-compatible/Presets"
import * as ScriptedModel from "@recourse/testing/ScriptedModel"
import { repeating } from "./repeating.ts"
import { type CannotServe, orCannotServe } from "./cannotServe.ts"

/** The answering model, and its displayed name. */
export interface Chosen {
  readonly name: string
  readonly layer: Layer.Layer<LanguageModel, CannotServe>
}

/** The presets whose key is in the environment. */
const keysThere = (env: Readonly<Record<string, string | undefined>>): ReadonlyArray<string> =>
  Presets.names.flatMap((name) => {
    const variable = Presets.get(name)?.keyVariable
    return variable !== undefined && (env[variable] ?? "") !== "" ? [variable] : []
  })

/** Chooses the model by the options, and by the variables `LLM_PRESET`, `LLM_BASE_URL` and `LLM_MODEL`. */
export const choose = (
  options: { readonly preset: string | undefined; readonly model: string | undefined },
  script: ScriptedModel.Behaviour | undefined,
  env: Readonly<Record<string, string | undefined>>
): Chosen => {
  // A variable with an empty value is not set.
  const set = (name: string): string | undefined => env[name] === "" ? undefined : env[name]
  const preset = options.preset ?? set("LLM_PRESET")
  const model = options.model ?? set("LLM_MODEL")
  if (preset === undefined && set("LLM_BASE_URL") === undefined) {
    const keys = keysThere(env)
    const name = keys.length === 0
      ? "scripted, because no model is named (--preset, --model)"
      : `scripted: ${keys.join(", ")} is set, name the model with --preset and --model`
    return { name, layer: ScriptedModel.layer(script ?? repeating) }
  }
  const layer = orCannotServe(
    OpenAiCompatible.layerConfig({
      ...(options.preset === undefined ? undefined : { preset: options.preset }),
      ...(options.model === undefined ? undefined : { model: options.model })
    }).pipe(Layer.provide(FetchHttpClient.layer)),
    ({ message }) => message
  )
  return { name: [preset ?? set("LLM_BASE_URL"), model].filter(Boolean).join(", "), layer }
}
