/** Stored values: inputs and outputs of agents in a snapshot. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { decodePrompt, encodePrompt } from "../../foundation/json/promptJson.ts"
import { checkArgument } from "../../foundation/options/optionCheck.ts"
import { anAgent, type Any } from "../agent.ts"
import type { Form, Forms } from "./valueCodec.ts"
import { descriptionOf } from "../modelAgent.ts"

/** True if a value survives a round trip through JSON text. */
const isJson = (value: unknown, depth = 100): boolean => {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return true
  if (typeof value === "number") return Number.isFinite(value)
  if (typeof value !== "object" || depth === 0) return false
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth - 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) &&
    Object.values(value).every((item) => item === undefined || isJson(item, depth - 1))
}

/** Values that are JSON themselves, conversations, and `undefined`. */
export const plain: Form = {
  keep: (value) =>
    Effect.sync(() =>
      value === undefined
        ? Option.some({})
        : Prompt.isPrompt(value)
        ? Option.some({ prompt: encodePrompt(value) })
        : isJson(value)
        ? Option.some({ value: value as Schema.Json })
        : Option.none()
    ),
  read: (json) =>
    Effect.sync(() => {
      const stored = json as { readonly prompt?: Schema.Json; readonly value?: Schema.Json }
      return stored.prompt === undefined ? stored.value : decodePrompt(stored.prompt)
    })
}

const ofSchema = (schema: Schema.Top): Form => {
  const codec = Schema.toCodecJson(schema)
  return {
    keep: (value) => Effect.option(Schema.encodeUnknownEffect(codec)(value) as Effect.Effect<Schema.Json, unknown>),
    read: (json) => Effect.orDie(Schema.decodeUnknownEffect(codec)(json) as Effect.Effect<unknown, unknown>)
  }
}

/** Keeps a value by the first of several forms that can. */
export const anyOf = (forms: ReadonlyArray<Form>): Form => {
  const all = [...new Set(forms)]
  const keep = (value: unknown, from: number): Effect.Effect<Option.Option<Schema.Json>, never, unknown> => {
    const form = all[from]
    return form === undefined ?
      Effect.succeedNone :
      Effect.flatMap(
        form.keep(value),
        (encoded) => Option.isSome(encoded) ? Effect.succeedSome([from, encoded.value]) : keep(value, from + 1)
      )
  }
  return {
    keep: (value) => keep(value, 0),
    read: (json) => {
      const [form, stored] = json as readonly [number, Schema.Json]
      return all[form]!.read(stored)
    }
  }
}

/** Keeps each item of a list by a form of its own. */
export const tuple = (forms: ReadonlyArray<Form>): Form => ({
  keep: (value) =>
    Effect.map(
      Effect.forEach(value as ReadonlyArray<unknown>, (item, index) => forms[index]!.keep(item)),
      (encoded) => Option.all(encoded) as Option.Option<ReadonlyArray<Schema.Json>>
    ),
  read: (json) => Effect.forEach(json as ReadonlyArray<Schema.Json>, (item, index) => forms[index]!.read(item))
})

/** Codecs of an agent's input and output: by its schemas if it has some. */
export const formsOf = (agent: Any): Forms => {
  checkArgument("Agent", "a part of it", agent, anAgent)
  const forms = agent.declared?.forms
  if (forms !== undefined) return forms
  const schemas = descriptionOf(agent)
  return schemas === undefined
    ? { input: plain, output: plain }
    : { input: anyOf([ofSchema(schemas.input), plain]), output: anyOf([ofSchema(schemas.output), plain]) }
}
