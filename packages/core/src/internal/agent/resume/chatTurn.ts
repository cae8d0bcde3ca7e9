/** Turns of a chat: an agent answers a message in a thread, or resumes there with decisions. */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as Prompt from "effect/ai/Prompt"
import type { AgentEvent } from "../../../AgentEventSchema.ts"
import type { Decision } from "../../approval/decision.ts"
import {
  ApprovalRequired,
  type DecisionRefused,
  type Outcome,
  Paused,
  SnapshotRefused
} from "../../approval/outcome.ts"
import type { Snapshot } from "../../approval/snapshot.ts"
import type { ConversationError, ThreadBusy, ThreadNotFound } from "../../conversation/conversationErrors.ts"
import type { Conversations, ThreadKey } from "../../conversation/conversationService.ts"
import type { Thread } from "../../conversation/thread.ts"
import { begin, type BeginError, type BeginOptions, type Turn } from "../../conversation/turn.ts"
import type { EndOptions } from "../../conversation/turnEvents.ts"
import type { RunRecord } from "../../run/runEntries.ts"
import { WriteNotStored } from "../../run/writes/writeLog.ts"
import { anObject, aString, checkArgument } from "../../foundation/options/optionCheck.ts"
import { type Agent, anAgent } from "../agent.ts"
import { eventStream, type StreamOptions as AgentStreamOptions } from "../eventStream.ts"
import { type Mode, plain } from "../runMode.ts"
import type { Resumable } from "./resumableRun.ts"

/**
 * The start of a write could not be stored, or another turn has claimed the thread: the write did not start, and the run has ended.
 *
 * @category errors
 * @since 0.2.0
 */
export type WriteError = ThreadNotFound | ThreadBusy | ConversationError

/**
 * End of a turn of an agent.
 *
 * @category models
 * @since 0.2.0
 */
export interface Sent<out Out, out E> {
  /** Exit of the run. */
  readonly exit: Exit.Exit<Out, E | WriteError>
  /** Record of the run; absent if it did not start. */
  readonly record: RunRecord | undefined
  /** The stored thread. After a failure the messages are in the record, and not in the thread. */
  readonly stored: Exit.Exit<Thread, ThreadNotFound | ConversationError>
  /** The turn as it began. */
  readonly turn: Turn
}

/** The snapshot of a run that waits. */
const waiting = (exit: Exit.Exit<unknown, unknown>): Snapshot | undefined => {
  if (Exit.isSuccess(exit)) return exit.value instanceof Paused ? exit.value.snapshot : undefined
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  return error instanceof ApprovalRequired ? error.snapshot : undefined
}

/** The exit of a run; of one that ended because a write could not be stored, the store's error. */
const exitOf = <Out, E>(exit: Exit.Exit<Out, E>): Exit.Exit<Out, E | WriteError> => {
  if (Exit.isSuccess(exit)) return exit
  const notStored = exit.cause.reasons.flatMap((reason) =>
    Cause.isDieReason(reason) && reason.defect instanceof WriteNotStored ? [reason.defect.reason as WriteError] : []
  )
  return notStored.length === 0 ? exit : Exit.fail(notStored[0]!)
}

/** Runs a turn, and stores its messages at any end, also at an interruption, because calls may have completed. */
const inTurn = Effect.fnUntraced(function*<Out, E, R>(
  beginOptions: BeginOptions,
  { compaction, failedCalls }: Pick<SendOptions, "compaction" | "failedCalls">,
  run: (turn: Turn, mode: Mode) => Effect.Effect<Out, E, R>
): Effect.fn.Return<Sent<Out, E>, BeginError, R | Conversations | Scope.Scope> {
  const turn = yield* begin(beginOptions)
  let ended: (() => RunRecord) | undefined
  let stored: Sent<Out, E>["stored"] = Exit.succeed(turn.thread)
  const store = (exit: Exit.Exit<Out, E>) =>
    Effect.suspend(() => {
      if (ended === undefined) return Effect.void
      const { compacted: made, replacedInput, runId, transcript } = ended()
      const snapshot = waiting(exit)
      const compacted = compaction === "forget" ? undefined : made
      const end = Effect.catchTag(
        turn.end({ transcript, runId, snapshot, failedCalls, compacted, replacedInput }),
        // It ends here alone.
        "TurnOver",
        Effect.die
      )
      return Effect.flatMap(Effect.exit(end), (exit) => {
        stored = exit
        return Exit.isSuccess(exit)
          ? Effect.void
          : Effect.logError("The messages of a chat turn could not be stored", exit.cause)
      })
    })
  const mode: Mode = { ...plain, onRecord: (record) => ended = record }
  const exit = yield* Effect.exit(Effect.onExit(turn.recorded(run(turn, mode)), store))
  return { exit: exitOf(exit), record: ended?.(), stored, turn }
}, Effect.scoped)

/**
 * Options of a turn.
 *
 * @category options
 * @since 0.2.0
 */
export interface SendOptions extends Omit<BeginOptions, "regenerate" | "takeOver"> {
  /** The user's message. */
  readonly message: Prompt.RawInput
  /**
   * Treatment of failed calls for the next turn's model. Default: `"forget"`, except for those that may have had an
   * effect (`outcome_unknown`, `partial_success`, `idempotency_conflict`).
   */
  readonly failedCalls?: EndOptions["failedCalls"]
  /**
   * Conversation of the next turn's model, if the run was compacted (`compact` of the agent). Default: `"keep"`, the
   * compacted one. With `"forget"` it has all messages.
   */
  readonly compaction?: "keep" | "forget" | undefined
}

/**
 * One turn of a chat: appends the user's message, runs the agent on the conversation, and appends the new messages. It
 * fails only if the turn could not start; `exit` has the run's end. The messages are stored at any end.
 *
 * A run that waits for a person has `ApprovalRequired` in its `exit`: continue with {@link resume}.
 *
 * **Example** (A chat that remembers)
 *
 * ```ts
 * import { Effect, Exit } from "effect"
 * import { Prompt } from "effect/ai"
 * import { Agent, Conversation } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const support = Agent.make("support", { input: Prompt.Prompt, prompt: (conversation) => conversation })
 * const say = (message: string) => Conversation.send(support, { owner: "ada", thread: "t1", message })
 *
 * const program = Effect.gen(function*() {
 *   yield* say("My name is Ada.")
 *   const { exit } = yield* say("What is my name?")
 *   const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
 *   return [Exit.isSuccess(exit) && exit.value, prompt.content.length]
 * }).pipe(Effect.provide([
 *   Conversation.layerMemory,
 *   ScriptedModel.layer([ScriptedModel.text("Hello Ada."), ScriptedModel.text("Ada.")])
 * ]))
 *
 * await Effect.runPromise(program) // => ["Ada.", 3]
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const send = <Out, E, R>(
  agent: Agent<Prompt.Prompt, Out, E, R>,
  options: SendOptions
): Effect.Effect<Sent<Out, E>, BeginError, R | Conversations> => {
  checkChat("Conversation.send", agent, options)
  return inTurn(
    options,
    options,
    ({ prompt }, mode) => agent.runIn(prompt, { ...mode, runId: options.runId })
  )
}

const checkChat = (subject: string, agent: unknown, options: unknown): void => {
  checkArgument(subject, "its agent", agent, anAgent)
  checkArgument(subject, "its options", options, anObject)
  const { owner, thread } = options as Partial<ThreadKey>
  checkArgument(subject, "owner", owner, aString)
  checkArgument(subject, "thread", thread, aString)
}

/**
 * Options to resume a run of a chat.
 *
 * @category options
 * @since 0.2.0
 */
export interface ResumeOptions extends ThreadKey {
  /** The person's decisions about the pending calls. */
  readonly decisions: ReadonlyArray<Decision>
  /** Lease of the thread after the last renewal. Default: 30 seconds. */
  readonly lease?: Duration.Input | undefined
  /** Treatment of failed calls for the next turn's model. Default: `"forget"`, as in {@link SendOptions}. */
  readonly failedCalls?: EndOptions["failedCalls"]
  /** Conversation of the next turn's model, if the run was compacted. Default: `"keep"`. */
  readonly compaction?: SendOptions["compaction"]
}

/**
 * Resumes the run of a thread that waits for a person: `agent.resume` with the snapshot of the thread. If no run waits,
 * or if the decisions are refused, no call runs and the thread does not change.
 *
 * @category running
 * @since 0.2.0
 */
export const resume = <Out, E, R, Resume>(
  agent: Resumable<Prompt.Prompt, Out, E, R, Resume> & { readonly name: string },
  options: ResumeOptions
): Effect.Effect<
  Sent<Outcome<Out>, E | SnapshotRefused | DecisionRefused>,
  BeginError,
  R | Resume | Conversations
> =>
  inTurn(
    { owner: options.owner, thread: options.thread, lease: options.lease },
    options,
    (turn, mode) => proceed(agent, turn, options.decisions, mode)
  )

/** Resumes the run of a turn's snapshot, if an earlier resumption has started none of its calls. */
const proceed = <Out, E, R, Resume>(
  agent: Resumable<Prompt.Prompt, Out, E, R, Resume> & { readonly name: string },
  { snapshot, started }: Turn,
  decisions: ReadonlyArray<Decision>,
  mode: Mode
): Effect.Effect<Outcome<Out>, E | SnapshotRefused | DecisionRefused, R | Resume> => {
  const refused = (reason: SnapshotRefused["reason"]) => Effect.fail(new SnapshotRefused({ agent: agent.name, reason }))
  if (snapshot === undefined) return refused("used")
  const { runId } = snapshot as unknown as Snapshot
  // Its process died: the thread has its completed calls, and the next message reads them.
  if (started.some((call) => call.runId === runId)) return refused("abandoned")
  return agent.proceed({ snapshot, decisions }, { ...mode, mayPause: true })
}

/**
 * One turn of a chat as a stream of events, with streamed model calls: {@link send} with a `message`, {@link resume}
 * with `decisions`. The last event follows the storage of the messages. A consumer that stops interrupts the run, and
 * the messages until then are stored.
 *
 * The stream fails when the run fails. A run that waits for a person fails with `ApprovalRequired` behind its last
 * event (`outcome: "paused"`): show its `pending` calls, and stream with the `decisions`. It fails with
 * `ThreadNotFound` or `ConversationError` if the messages could not be stored.
 *
 * **Example** (A streamed answer)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Prompt } from "effect/ai"
 * import { Agent, Conversation } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const poet = Agent.make("poet", { input: Prompt.Prompt, prompt: (conversation) => conversation })
 * const events = Conversation.stream(poet, { owner: "ada", thread: "poems", message: "A line about the sea" })
 *
 * const text = Stream.runFold(events, () => "", (text, event) => event._tag === "TextDelta" ? text + event.delta : text)
 * await Effect.runPromise(Effect.provide(text, [
 *   Conversation.layerMemory,
 *   ScriptedModel.layer([ScriptedModel.text("Wine-dark it rolls.")])
 * ])) // => "Wine-dark it rolls."
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const stream: {
  <Out, E, R>(
    agent: Agent<Prompt.Prompt, Out, E, R>,
    options: AgentStreamOptions & SendOptions
  ): Stream.Stream<AgentEvent, E | WriteError | BeginError, R | Conversations>
  <Out, E, R, Resume>(
    agent: Resumable<Prompt.Prompt, Out, E, R, Resume> & { readonly name: string },
    options: AgentStreamOptions & ResumeOptions
  ): Stream.Stream<
    AgentEvent,
    E | WriteError | BeginError | ApprovalRequired | SnapshotRefused | DecisionRefused,
    R | Resume | Conversations
  >
} = <Out, E, R, Resume>(
  agent: Agent<Prompt.Prompt, Out, E, R> | (Resumable<Prompt.Prompt, Out, E, R, Resume> & { readonly name: string }),
  options: AgentStreamOptions & (SendOptions | ResumeOptions)
): Stream.Stream<AgentEvent, E | WriteError | BeginError | Refusals, R | Resume | Conversations> => {
  checkChat("Conversation.stream", agent, options)
  return "decisions" in options
    ? streamed<E, R | Resume>(options, options, (turn, mode) => {
      const waits = agent as Resumable<Prompt.Prompt, Out, E, R, Resume> & { readonly name: string }
      return failWaiting(agent.name, proceed(waits, turn, options.decisions, mode))
    })
    : streamed<E, R | Resume>(
      options,
      options,
      ({ prompt }, mode) => (agent as Agent<Prompt.Prompt, Out, E, R>).runIn(prompt, { ...mode, runId: options.runId })
    )
}

type Refusals = ApprovalRequired | SnapshotRefused | DecisionRefused

/** The events of a turn. The last one waits until the messages are stored. */
const streamed = <E, R>(
  { owner, thread, lease, ...options }: AgentStreamOptions & (SendOptions | ResumeOptions),
  how: Pick<SendOptions, "compaction" | "failedCalls">,
  run: (turn: Turn, mode: Mode) => Effect.Effect<unknown, E | Refusals, R>
): Stream.Stream<AgentEvent, E | WriteError | BeginError | Refusals, R | Conversations> =>
  eventStream((mode) => {
    let last: Effect.Effect<void> = Effect.void
    const sink: Mode["sink"] = {
      emit: (event, fiber) => {
        const emitted = Effect.suspend(() => mode.sink?.emit(event, fiber) ?? Effect.void)
        if (event._tag !== "RunFinished") return emitted
        last = emitted
        return Effect.void
      }
    }
    const beginOptions = "decisions" in options ? { owner, thread, lease } : { ...options, owner, thread, lease }
    const turn = inTurn<unknown, E | Refusals, R>(
      beginOptions,
      how,
      (turn, own) => run(turn, { ...own, streaming: true, sink })
    )
    return Effect.flatMap(turn, ({ exit, stored }) =>
      Effect.andThen(
        Effect.suspend(() => last),
        (): Effect.Effect<unknown, E | WriteError | BeginError | Refusals> =>
          Exit.isSuccess(exit) && Exit.isFailure(stored) ? stored : exit
      ))
  }, options)

/** A run that waits again fails like the first run of a stream. */
const failWaiting = <Out, E, R>(agent: string, run: Effect.Effect<Outcome<Out>, E, R>) =>
  Effect.flatMap(
    run,
    (outcome): Effect.Effect<Outcome<Out>, ApprovalRequired> =>
      outcome instanceof Paused
        ? Effect.fail(new ApprovalRequired({ agent, snapshot: outcome.snapshot }))
        : Effect.succeed(outcome)
  )
