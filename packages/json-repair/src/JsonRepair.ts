/**
 * A lenient reading of malformed arguments, as a fixer: off unless it is declared, and marked in events, in the transcript
 * and in the record of executed calls by its name.
 */
import * as Effect from "effect/Effect"
import { jsonrepair, JSONRepairError } from "jsonrepair"
import * as Agent from "@recourse/core/Agent"
import * as Recovery from "@recourse/core/Recovery"

/** How far the repair goes. */
export interface Options {
  /** Names of tools with `effects: "write"` whose arguments may be repaired. Default: none, as a guess must not be written. */
  readonly writes?: ReadonlyArray<string> | undefined
}

/**
 * A fixer for `InvalidArgs` that repairs the text of the arguments with the `jsonrepair` library: quotes, commas, comments,
 * cut-off ends. Costs no model call. What it answers passes the tool's schema like the model's own. It declines what is
 * not a matter of syntax, what it cannot repair, and tools that write, unless they are named.
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
  const writes = new Set(options.writes)
  return Agent.fromFunction("json-repair", (request: Recovery.FixRequest) => {
    const isSyntax = request.issues.some((issue) => issue.problem === "syntax")
    const mayRepair = request.effects !== "write" || writes.has(request.tool)
    return isSyntax && mayRepair ? repair(request.arguments) : Effect.succeed(Recovery.declined)
  })
}

const repair = (text: string): Effect.Effect<string | Recovery.FixDeclined> =>
  Effect.suspend((): Effect.Effect<string | Recovery.FixDeclined> => {
    try {
      return Effect.succeed(jsonrepair(text))
    } catch (error) {
      return error instanceof JSONRepairError ? Effect.succeed(Recovery.declined) : Effect.die(error)
    }
  })
