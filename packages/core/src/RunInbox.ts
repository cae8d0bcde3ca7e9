/**
 * Inbox of a run: messages that users send while it runs. The run reads them before its next request to the model.
 *
 * An engine of runs provides {@link CurrentRunInbox} around `agent.run`, `agent.start` or `agent.resume`: see `Runs.addMessage` of
 * `@recourse/server` and `@recourse/durable`.
 */
import * as Prompt from "effect/ai/Prompt"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { InvalidInput } from "./AgentError.ts"

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

let decoder: ((content: unknown) => Option.Option<unknown>) | undefined

const decodeContent = (message: unknown) => {
  decoder ??= Schema.decodeUnknownOption(Schema.toCodecJson(Prompt.UserMessage))
  return decoder(message)
}

/**
 * Checks a message of a caller, for engines of runs: its `id` is a text, and its `content` is a text or parts of an
 * encoded `Prompt.UserMessage`. Fails with `InvalidInput` otherwise: a run could not read the message, though it had joined.
 *
 * **Example** (A content that is no text)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { RunInbox } from "@recourse/core"
 *
 * const refused = await Effect.runPromise(Effect.flip(RunInbox.check("clerk", { id: "m1", content: 7 })))
 * refused.issues.map(({ path }) => path) // => [["content"]]
 * ```
 *
 * @category decoding
 * @since 0.2.0
 */
export const check = (
  agent: string,
  { content, id }: Readonly<Record<"id" | "content", unknown>>
): Effect.Effect<void, InvalidInput> => {
  const issues = [
    ...(typeof id === "string" ? [] : [{ path: ["id"], expected: "expected text", problem: "invalid" } as const]),
    ...(Option.isSome(decodeContent({ role: "user", content }))
      ? []
      : [{ path: ["content"], expected: "expected text, or parts of a user's message", problem: "invalid" } as const])
  ]
  return issues.length === 0 ? Effect.void : Effect.fail(new InvalidInput({ agent, operation: "addMessage", issues }))
}
