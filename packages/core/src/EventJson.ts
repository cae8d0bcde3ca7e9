/**
 * Events as JSON, and back: for stores and for wires between programs that trust each other. What users may read of a run is less:
 * name the fields that leave.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { AgentEvent } from "./AgentEventSchema.ts"
import { toJson } from "./internal/foundation/jsonValue.ts"
import { decodePrompt, encodePrompt } from "./internal/foundation/promptJson.ts"

const AgentEventJson = Schema.toCodecJson(AgentEvent)
const encodeResult = Schema.encodeUnknownResult(AgentEventJson)
const encodeSync = Schema.encodeUnknownSync(AgentEventJson)

/** The JSON of a value of the program's own: of a conversation what its schema says. */
const jsonOf = (value: unknown): Schema.Json =>
  Prompt.isPrompt(value) ? encodePrompt(value) : Option.getOrElse(toJson(value), () => null)

/** Fields that no schema describes, and those that hold what a program brought. */
const own = ["input", "output", "result"]
const conversations = ["transcript", "messages"]

/** The event with JSON in place of what is none. */
const asJson = (event: AgentEvent): unknown => {
  const told: Record<string, unknown> = { ...event }
  for (const field of own) if (Object.hasOwn(told, field)) told[field] = jsonOf(told[field])
  for (const field of conversations) {
    const value = told[field]
    if (Prompt.isPrompt(value)) told[field] = decodePrompt(encodePrompt(value))
  }
  return told
}

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
 */
export const encode = (event: AgentEvent): Schema.Json =>
  Result.getOrElse(encodeResult(event), () => encodeSync(asJson(event))) as Schema.Json

/** The event that JSON says; nothing where it says none, as that of a later version may. */
export const decode: (json: unknown) => Option.Option<AgentEvent> = Schema.decodeUnknownOption(AgentEventJson)
