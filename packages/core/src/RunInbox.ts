/**
 * Inbox of a run: messages that users send while it runs. The run reads them before its next request to the model.
 *
 * An engine of runs provides {@link CurrentRunInbox} around `agent.run`, `agent.start` or `agent.resume`: see `Runs.addMessage` of
 * `@recourse/server` and `@recourse/durable`.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * A user's message in the inbox of a run.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Message = Schema.Struct({
  /** Identifies the message among those of the run. */
  id: Schema.String,
  /** Place in the inbox, from 1. A message that was withdrawn leaves a gap. */
  position: Schema.Int,
  /** Parts of an encoded `Prompt.UserMessage`, or its text. */
  content: Schema.Json
})

/**
 * A user's message in the inbox of a run.
 *
 * @category models
 * @since 0.2.0
 */
export type Message = typeof Message.Type

/**
 * The inbox of one run.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunInbox {
  /** The run whose inbox it is: other runs in the same context do not read it. */
  readonly runId: string
  /**
   * Takes the messages behind a position, the oldest first. A taken message cannot be withdrawn any more; an execution that
   * has not recorded it is given it again, also if its run is cancelled by then: that one takes no others. The run is
   * not interrupted meanwhile.
   */
  readonly take: (after: number) => Effect.Effect<ReadonlyArray<Message>>
}

/**
 * The inbox of the run that starts here. Default: none.
 *
 * Only the outermost agent reads it, and only if it has a model and no input guard: a guard checks the input of a run before
 * its first request, and a message that joins later would pass it by.
 *
 * **Example** (A message that joins a run)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, RunInbox } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const clerk = Agent.make("clerk", { tools: [] })
 * const inbox: RunInbox.RunInbox = {
 *   runId: "r1",
 *   take: (after) => Effect.succeed(after === 0 ? [{ id: "m1", position: 1, content: "In French, please." }] : [])
 * }
 * const program = clerk.run("Greet me.", { runId: "r1" }).pipe(
 *   Effect.provideService(RunInbox.CurrentRunInbox, inbox),
 *   Effect.provide(ScriptedModel.layer([ScriptedModel.text("Bonjour.")]))
 * )
 *
 * await Effect.runPromise(program) // => "Bonjour."
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const CurrentRunInbox: Context.Reference<RunInbox | undefined> = Context.Reference<RunInbox | undefined>(
  "@recourse/core/CurrentRunInbox",
  { defaultValue: () => undefined }
)
