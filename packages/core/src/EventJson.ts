/**
 * Codec of events to JSON: for stores and for wires between programs that trust each other. Users may read less of a
 * run: name the fields that leave.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { AgentEvent } from "./AgentEventSchema.ts"
import { toJson } from "./internal/foundation/json/jsonValue.ts"
import { decodePrompt, encodePrompt } from "./internal/foundation/json/promptJson.ts"
import type { Compacted } from "./RunRecord.ts"

const AgentEventJson = Schema.toCodecJson(AgentEvent)
const encodeBySchema = Schema.encodeSync(AgentEventJson)

/** Fields with values of the program, which may be undefined. */
const own = new Set(["input", "output", "result"])

/** Returns the JSON of a field; a conversation is encoded by its schema. `None` for values without a JSON form. */
const jsonOf = (value: unknown): Option.Option<Schema.Json> =>
  Prompt.isPrompt(value) ? Option.some(encodePrompt(value)) : toJson(value)

/** Returns the JSON of a run's compacted conversation. */
const compactedJson = ({ prompt, ...rest }: Compacted): Schema.Json => ({ ...rest, prompt: encodePrompt(prompt) })

/**
 * The JSON of an event, which {@link decode} reads. An input, output or result of a program's own that has none is `null`: the event
 * is there all the same.
 *
 * **Example** (An output that is no JSON)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentEvent, EventJson } from "@recourse/core"
 *
 * const told: Array<unknown> = []
 * const big = Agent.fromFunction("big", () => Effect.succeed(10n))
 *
 * await Effect.runPromise(
 *   big.run("hi").pipe(Effect.provide(AgentEvent.listen((event) => Effect.sync(() => told.push(EventJson.encode(event))))))
 * ) // => 10n
 * told.map((json) => (json as AgentEvent.RunFinished).output) // => [undefined, null]
 * ```
 *
 * @category encoding
 * @since 0.2.0
 */
export const encode = (event: AgentEvent): Schema.Json => {
  const json: Record<string, Schema.Json> = {}
  for (const [field, value] of Object.entries(event)) {
    const isOwn = own.has(field)
    if (value === undefined && !isOwn) continue
    const known = field === "compacted" ? Option.some(compactedJson(value as Compacted)) : jsonOf(value)
    // The bytes of a file.
    if (Option.isNone(known) && !isOwn) return encodeBySchema(event) as Schema.Json
    json[field] = Option.getOrElse(known, () => null)
  }
  return json
}

const decodeBySchema = Schema.decodeUnknownOption(AgentEventJson)

/** Fields with a conversation, by the tag of the event. */
const conversations: Readonly<Record<string, ReadonlyArray<string>>> = {
  ModelRequested: ["messages"],
  RunFinished: ["transcript", "replacedInput"]
}

/** Decodes the conversations of an event by hand, ten times as fast as by a schema. `undefined` if one is invalid. */
const conversationsIn = (json: object): Readonly<Record<string, Prompt.Prompt>> | undefined => {
  const found: Record<string, Prompt.Prompt> = {}
  const { _tag } = json as { readonly _tag?: unknown }
  const fields = typeof _tag === "string" && Object.hasOwn(conversations, _tag) ? conversations[_tag]! : []
  try {
    for (const field of fields) {
      if (Object.hasOwn(json, field)) found[field] = decodePrompt((json as Readonly<Record<string, unknown>>)[field])
    }
  } catch {
    return undefined
  }
  return found
}

/**
 * Decodes an event. `None` if the JSON is none of this version's events.
 *
 * @category decoding
 * @since 0.2.0
 */
export const decode = (json: unknown): Option.Option<AgentEvent> => {
  if (typeof json !== "object" || json === null) return decodeBySchema(json)
  const prompts = conversationsIn(json)
  if (prompts === undefined) return Option.none()
  const empty = Object.fromEntries(Object.keys(prompts).map((field) => [field, { content: [] }]))
  return Option.map(decodeBySchema({ ...json, ...empty }), (event) => ({ ...event, ...prompts }))
}
