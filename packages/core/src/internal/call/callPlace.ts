/** Path of a call: identifies it among all calls of its run, and of inner agents. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { CurrentRun } from "../run/run.ts"
import { ToolCall } from "./call.ts"

/**
 * Returns the path of the call that a tool runs for: the id of the run, of each outer call and agent, and its own id.
 * It is the same in each attempt, in each execution of a durable run, and in the `compensate` of the write. The id
 * alone is not unique: models number their calls from the start in each conversation, so agents within a run have calls
 * of one id.
 *
 * **Example** (The path of a call)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const places: Array<string> = []
 * const Look = Tool.make("look", {
 *   success: Schema.String,
 *   effects: "read",
 *   execute: () => Effect.map(ToolCall.place, (place) => `seen, and noted as ${places.push(place)}`)
 * })
 * const clerk = Agent.make("clerk", { tools: [Look], defaults: { onError: Recovery.keepGoing } })
 *
 * const script = ScriptedModel.layer([ScriptedModel.call("look", {}, { id: "c1" }), ScriptedModel.text("Done.")])
 * await Effect.runPromise(clerk.run("Look", { runId: "run_1" }).pipe(Effect.provide(script)))
 * places // => ["run_1/c1"]
 * ```
 *
 * @category accessors
 * @since 0.2.0
 */
export const place: Effect.Effect<string, never, ToolCall> = Effect.contextWith(
  (context: Context.Context<ToolCall>) => {
    const { id, identity, scope } = Context.get(context, ToolCall)
    return Effect.succeed(`${scope ?? Context.get(context, CurrentRun)?.scope ?? "run"}/${identity ?? id}`)
  }
)
