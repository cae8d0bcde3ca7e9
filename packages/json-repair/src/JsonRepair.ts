/**
 * JSON repair: a fixer that reads malformed arguments leniently. Off unless it is declared. Its name marks the repair
 * in events, in the transcript and in the record of executed calls.
 */
import * as Effect from "effect/Effect"
import { jsonrepair } from "jsonrepair"
import * as Agent from "@recourse/core/Agent"
import * as Recovery from "@recourse/core/Recovery"
import { withLiteralBackslashes } from "./internal/backslashes.ts"
import { embeddedObject } from "./internal/embeddedObject.ts"

/** How far the repair goes. */
export interface Options {
  /**
   * Names of tools without `effects: "read"` whose arguments may be repaired. Default: none, as a guess must not change
   * anything.
   */
  readonly tools?: ReadonlyArray<string> | undefined
  /** The longest text that is repaired, in characters: the time that a repair takes grows with its square. Default: 32,768. */
  readonly maxLength?: number | undefined
}

/**
 * A fixer for `InvalidArgs` that repairs the text of the arguments: an object in prose or in a Markdown fence is found;
 * quotes, commas, comments and cut-off ends are repaired with the `jsonrepair` library. Costs no model call. What it answers
 * passes the tool's schema like the model's own.
 *
 * It declines what is not a matter of syntax, what it cannot repair, what can be read in two ways (two objects, a pattern
 * beside a line break), text above `maxLength`, and tools that do not declare `effects: "read"`, unless they are named.
 *
 * **Example** (Unquoted keys)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 * import { JsonRepair } from "@recourse/json-repair"
 *
 * const Greet = Tool.make("greet", {
 *   parameters: Schema.Struct({ name: Schema.String }),
 *   success: Schema.String,
 *   effects: "read",
 *   execute: ({ name }) => Effect.succeed(`Hello ${name}`)
 * }).pipe(Tool.onError(Recovery.fix("InvalidArgs", JsonRepair.fixer())))
 *
 * await Effect.runPromise(
 *   Greet.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: "{name: 'Ada'" })))
 * ) // => "Hello Ada"
 * ```
 */
export const fixer = (
  options: Options = {}
): Agent.Agent<Recovery.FixRequest, string | Recovery.FixDeclined> => {
  const named = new Set(options.tools)
  const maxLength = options.maxLength ?? 32_768
  return Agent.fromFunction("json-repair", (request: Recovery.FixRequest) =>
    Effect.sync(() => {
      const isSyntax = request.issues.some((issue) => issue.problem === "syntax")
      const mayRepair = request.effects === "read" || named.has(request.tool)
      return isSyntax && mayRepair && request.arguments.length <= maxLength
        ? repaired(request.arguments) ?? Recovery.declined
        : Recovery.declined
    }))
}

/** The repaired text, or nothing. Whatever `jsonrepair` throws, deep nesting included, is a repair that failed. */
const repaired = (text: string): string | undefined => {
  try {
    const object = embeddedObject(text)
    const readable = object === undefined ? undefined : withLiteralBackslashes(object)
    if (readable === undefined) return undefined
    const json = jsonrepair(readable)
    return isObject(json) ? json : undefined
  } catch {
    return undefined
  }
}

const isObject = (json: string): boolean => {
  const value: unknown = JSON.parse(json)
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
