/** Runs that runs start: agents that start agents. */
import * as Effect from "effect/Effect"
import { CurrentJournal } from "@recourse/core/Journal"
import { place, ToolCall } from "@recourse/core/ToolCall"
import { fitted } from "../store/requests.ts"

/**
 * Returns the id of a run that a tool starts: made of the run and the call that start it, with the agents around the
 * call, and a name if a call starts several. It is the same each time that the call is made, so that a call repeated
 * after a crash of its process joins the run that it started.
 *
 * **Example** (A tool that starts a run and waits for it)
 *
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { Durable, RunStore } from "@recourse/durable"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Double = Durable.make(
 *   Agent.fromFunction("double", (n: number) => Effect.succeed(n * 2)),
 *   { input: Schema.Int, output: Schema.Int }
 * )
 * const Ask = Tool.make("ask", {
 *   parameters: Schema.Struct({ n: Schema.Int }),
 *   success: Schema.Int,
 *   effects: "idempotent",
 *   execute: ({ n }) => Effect.flatMap(Durable.childId(), (id) => Double.run(id, n))
 * })
 * const Clerk = Durable.make(Agent.make("clerk", { tools: [Ask], defaults: { onError: Recovery.keepGoing } }))
 *
 * const Model = ScriptedModel.layer([ScriptedModel.call("ask", { n: 21 }, { id: "c1" }), ScriptedModel.text("42")])
 * const Runners = Durable.layer([Clerk, Double]).pipe(Layer.provide([RunStore.layerMemory, Model]))
 *
 * const program = Effect.andThen(Clerk.run("r1", "Twice 21?"), Double.await("r1/c1"))
 * await Effect.runPromise(program.pipe(Effect.provide(Runners))) // => 42
 * ```
 *
 * @category accessors
 * @since 0.2.0
 */
export const childId = (name?: string): Effect.Effect<string, never, ToolCall> =>
  Effect.gen(function*() {
    const { idempotencyKey } = yield* ToolCall
    const journal = yield* CurrentJournal
    const call = idempotencyKey === undefined ? yield* place : `${journal?.runId ?? "run"}/${idempotencyKey}`
    return yield* fitted(name === undefined ? call : `${call}/${name}`)
  })
