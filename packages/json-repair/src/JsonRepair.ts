/**
 * JSON repair: fixers that read malformed arguments leniently, and values in another type than a tool asks for. Off unless they are
 * declared. Their names mark the repair in events, in the transcript and in the record of executed calls.
 */
import * as Effect from "effect/Effect"
import { jsonrepair } from "jsonrepair"
import * as Agent from "@recourse/core/Agent"
import * as OptionCheck from "@recourse/core/OptionCheck"
import * as Recovery from "@recourse/core/Recovery"
import { withLiteralBackslashes } from "./internal/backslashes.ts"
import { coerced, typesAt, withAt } from "./internal/coerce.ts"
import { embeddedObject } from "./internal/embeddedObject.ts"

/**
 * Limits of the repair.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /**
   * Names of tools without `effects: "read"` whose arguments may be repaired. Default: none, because a guess must not
   * have an effect.
   */
  readonly tools?: ReadonlyArray<string> | undefined
  /** The longest text that is repaired, in characters: the time that a repair takes grows with its square. Default: 32,768. */
  readonly maxLength?: number | undefined
}

const kinds: Readonly<Record<keyof Options, OptionCheck.Kind>> = {
  tools: OptionCheck.listOf(OptionCheck.aString),
  maxLength: OptionCheck.aLimit
}

/**
 * A fixer for `InvalidArgs` that repairs the text of the arguments. It finds an object in prose or in a Markdown fence;
 * it repairs quotes, commas, comments and cut-off ends with the `jsonrepair` library. It makes no model call. Its
 * answer passes the tool's schema like the model's own.
 *
 * It declines faults other than syntax, irreparable or ambiguous texts (two objects, a pattern next to a line break),
 * text above `maxLength`, and tools that do not declare `effects: "read"`, unless they are named.
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
 *
 * @category constructors
 * @since 0.2.0
 */
export const fixer = (
  options: Options = {}
): Agent.Agent<Recovery.FixRequest, string | Recovery.FixDeclined> => {
  OptionCheck.checkOptions("JsonRepair.fixer", options, { kinds, otherNames: {} })
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

/**
 * A fixer for `InvalidArgs` that converts values to the JSON type of the tool's schema: `42` to `"42"`, `"42"` to `42`,
 * `"true"` to `true`, `"[1,2]"` to `[1,2]`, `"{\"a\":1}"` to `{"a":1}`. It makes no model call. Its answer passes the
 * tool's schema and the policies like the model's own, and the history has the used arguments.
 *
 * It declines faults other than types, values that would lose a digit, values of several possible types, and tools that
 * do not declare `effects: "read"`, unless they are named.
 *
 * **Example** (A number in quotes)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 * import { JsonRepair } from "@recourse/json-repair"
 *
 * const Order = Tool.make("order", {
 *   parameters: Schema.Struct({ id: Schema.String, amount: Schema.Int }),
 *   success: Schema.String,
 *   effects: "read",
 *   execute: ({ amount, id }) => Effect.succeed(`${amount} of ${id}`)
 * }).pipe(Tool.onError(Recovery.fix("InvalidArgs", JsonRepair.coercer())))
 *
 * await Effect.runPromise(
 *   Order.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { id: 42, amount: "3" } }))
 *   )
 * ) // => "3 of 42"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const coercer = (
  options: Pick<Options, "tools"> = {}
): Agent.Agent<Recovery.FixRequest, string | Recovery.FixDeclined> => {
  OptionCheck.checkOptions("JsonRepair.coercer", options, { kinds: { tools: kinds.tools }, otherNames: {} })
  const named = new Set(options.tools)
  return Agent.fromFunction(
    "json-coercion",
    (request: Recovery.FixRequest) =>
      Effect.sync(() =>
        request.effects === "read" || named.has(request.tool)
          ? inTypes(request) ?? Recovery.declined
          : Recovery.declined
      )
  )
}

/** Returns the arguments in the required types, or `undefined` if one of the issues is another fault. */
const inTypes = ({ arguments: text, issues, jsonSchema }: Recovery.FixRequest): string | undefined => {
  let args: unknown
  try {
    args = JSON.parse(text)
  } catch {
    return undefined
  }
  for (const { path } of issues) args = withAt(args, path, (value) => coerced(value, typesAt(jsonSchema, path)))
  return issues.length === 0 ? undefined : JSON.stringify(args)
}

/**
 * Returns the repaired text, or `undefined`. Any exception of `jsonrepair`, deep nesting included, is a failed repair.
 */
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
