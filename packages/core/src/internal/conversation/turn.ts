/** A turn of a chat: holds the thread, gives what the model reads, and appends what was said. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Prompt from "effect/ai/Prompt"
import { cutText } from "../foundation/cutText.ts"
import { randomId } from "../foundation/digest.ts"
import { type Compacted, Snapshot } from "../approval/snapshot.ts"
import * as Lease from "../foundation/lease.ts"
import { resultsIn } from "../history/calls.ts"
import { endIn, endOfTextIn, texts } from "../history/continuation.ts"
import { mend, type Mending } from "../history/mend.ts"
import { callsLeftOut, inPlaceOf } from "./inPlaceOf.ts"
import type { ConversationError, ThreadBusy, ThreadNotFound, VersionConflict } from "./errors.ts"
import { type AppendOptions, Conversations, type ThreadContent, type ThreadKey } from "./service.ts"
import type { Event, Thread } from "./thread.ts"
import { answersThatWait, beforeWaiting } from "./waiting.ts"
import { undoneSince } from "./undoneSince.ts"
import { encodeMessages, said, sent } from "./view.ts"

/** How a turn is begun. */
export interface BeginOptions extends ThreadKey {
  /** What the user says. Left out: nothing new is said (a run is resumed, or the last message is answered again). */
  readonly message?: Prompt.RawInput | undefined
  /** The run that will answer, if its id is known: the message is stored with it, so that a run that says nothing has its place. */
  readonly runId?: string | undefined
  /** The version that the user has seen. Left out: whatever the thread has. */
  readonly version?: number | undefined
  /** The title of a thread that is new. Default: the beginning of the message. */
  readonly title?: string | undefined
  /**
   * How long the thread is held after the last renewal; it is renewed after each third of it. When the process dies, another turn
   * can begin after that time. Default: 30 seconds.
   */
  readonly lease?: Duration.Input | undefined
}

/** How a turn ends. */
export interface EndOptions {
  /** The transcript of the run, which began with the turn's `prompt`. What is new in it is appended. */
  readonly transcript: Prompt.Prompt
  readonly runId?: string | undefined
  /**
   * What the model read in place of the conversation's beginning, where the run has compacted it: the `compacted` of its record. The next turn's model
   * reads it, too, in place of what was said; people are shown all. Left out: the next turn begins with all that was said.
   */
  readonly compacted?: Compacted | undefined
  /**
   * What the guard of the input has put in the place of the turn's `prompt`: the `replacedInput` of the run's record. The next turn's model reads it, too, with
   * the calls that it leaves out, in place of what was said; people are shown what was said.
   */
  readonly replacedInput?: Prompt.Prompt | undefined
  /** The snapshot of a run that waits for a person. Left out: none waits. */
  readonly snapshot?: Snapshot | undefined
  /**
   * Whether the model of the next turn reads calls that failed. Default: `"forget"`, but for those that may have done something
   * (`outcome_unknown`, `partial_success`). People are shown all of them.
   */
  readonly failedCalls?: "forget" | "keep" | undefined
}

/** A turn that has begun: its thread is held until it ends, or its scope is closed. */
export interface Turn {
  readonly thread: Thread
  /** What the model reads: the conversation so far, with what the user says now. It is well formed. */
  readonly prompt: Prompt.Prompt
  /** What was wrong with the conversation as it was stored. */
  readonly mended: ReadonlyArray<Mending>
  /** The snapshot of the run that waits, if one does. */
  readonly snapshot?: Schema.Json
  /** Appends what was said, whatever was appended meanwhile, and gives the thread back. */
  readonly end: (options: EndOptions) => Effect.Effect<Thread, ThreadNotFound | ConversationError>
}

/** A turn could not begin: nothing was appended. */
export type BeginError = ThreadNotFound | VersionConflict | ThreadBusy | ConversationError

const textOf = (message: Prompt.Prompt): string =>
  message.content.flatMap(({ content, role }) =>
    role !== "user" ? [] : content.flatMap((part) => part.type === "text" ? [part.text] : [])
  ).join(" ").replaceAll(/\s+/g, " ").trim()

/** What is new in a transcript that began with a prompt: what stands behind the prompt's last message. */
const newIn = (transcript: Prompt.Prompt, prompt: Prompt.Prompt, end: number | undefined) => {
  const messages = transcript.content
  if (end !== undefined) return messages.slice(end)
  const before = new Set(texts(prompt.content))
  const all = texts(messages)
  return messages.filter(({ role }, n) => role !== "system" && !before.has(all[n]!))
}

/** What the next turn's model reads in place of the entries so far, without the instructions that the agent has given itself. */
const replacedBy = (
  { count, prompt: read }: Compacted,
  transcript: Prompt.Prompt,
  prompt: Prompt.Prompt,
  end: number
): ReadonlyArray<Prompt.Message> => {
  const own = new Set<unknown>(
    transcript.content.slice(0, end - prompt.content.length).flatMap(({ content, role }) =>
      role === "system" ? [content] : []
    )
  )
  const left = read.content.filter(({ content }) => !own.has(content))
  return [...left, ...transcript.content.slice(count, end)]
}

const readSnapshot = Schema.decodeUnknownOption(Snapshot)

/** What a thread is told of the run that waits, when something else is said: nobody decides about its calls any more. */
const endOfWaiting = ({ entries, snapshot }: ThreadContent): Pick<AppendOptions, "events" | "runId"> =>
  Option.match(readSnapshot(snapshot), {
    onNone: () => ({ events: [] }),
    onSome: (waiting) => ({
      runId: waiting.runId,
      events: said(
        answersThatWait(waiting, sent(entries))
      )
    })
  })

const mayHaveHappened = new Set<unknown>(["outcome_unknown", "partial_success"])

/** The calls that the next turn's model need not read: those that failed, and that have done nothing. */
const forgettable = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<string> =>
  resultsIn(messages).filter(({ isFailure, result }) =>
    isFailure && !Predicate.hasProperty(result, "may_be_undone") &&
    !(Predicate.hasProperty(result, "code") && mayHaveHappened.has(result.code))
  ).map(({ id }) => id)

/** A conversation as it is known now, at the end of a run. */
const asOfNow = (before: Prompt.Prompt, transcript: Prompt.Prompt): Prompt.Prompt => {
  const known = undoneSince(before.content, transcript)
  return known === undefined ? before : Prompt.fromMessages(known)
}

/** What the end of a run appends to a thread of so many entries. */
const eventsOf = (
  { compacted, failedCalls: failed, replacedInput: replaced, snapshot, transcript }: EndOptions,
  stored: Prompt.Prompt,
  through: number
): Array<Event> => {
  const whole = asOfNow(stored, transcript)
  // A run that goes on has begun with the conversation that was put in the place of the first.
  const isReplaced = replaced !== undefined && endOfTextIn(transcript, whole) === undefined
  const prompt = isReplaced ? asOfNow(replaced, transcript) : whole
  const read = isReplaced ? inPlaceOf(stored.content, prompt.content) : prompt.content
  const changed: ReadonlyArray<Event> = read === stored.content
    ? []
    : [{ _tag: "Replaced", through, by: encodeMessages(read) }]
  const end = endIn(transcript, prompt)
  const fresh = newIn(transcript, prompt, end)
  if (snapshot !== undefined) return [...changed, ...said(beforeWaiting(fresh, snapshot))]
  const calls = failed === "keep" ? [] : forgettable(transcript.content)
  const forgotten: ReadonlyArray<Event> = calls.length === 0 ? [] : [{ _tag: "CallsForgotten", calls }]
  if (compacted === undefined || end === undefined) return [...changed, ...said(fresh), ...forgotten]
  const left = isReplaced ? callsLeftOut(stored.content, prompt.content) : []
  const by = encodeMessages([...left, ...replacedBy(compacted, transcript, prompt, end)])
  // What the run itself has said before it was compacted is in what it was compacted to.
  const covered = Math.max(0, compacted.count - end)
  return [
    { _tag: "Replaced", through, by },
    ...said(fresh.slice(0, covered), "people"),
    ...said(fresh.slice(covered)),
    ...forgotten
  ]
}

type Claim = NonNullable<AppendOptions["claim"]>

/** Takes the thread of a run that waits, and tells it what that run has done. Answers whether the thread is held. */
const endWaiting = Effect.fnUntraced(
  function*(options: BeginOptions, claim: Claim): Effect.fn.Return<boolean, BeginError, Conversations> {
    const store = yield* Conversations
    const { owner, thread } = options
    for (;;) {
      const content = yield* store.read({ owner, thread })
      if (content.snapshot === undefined) return false
      const version = options.version ?? content.thread.version
      const told = store.append({ owner, thread, ...endOfWaiting(content), version, claim, snapshot: null })
      const isTold = yield* told.pipe(
        Effect.as(true),
        // Something was appended meanwhile: that is read, too.
        Effect.catchTags({
          VersionConflict: (conflict) => options.version === undefined ? Effect.succeed(false) : Effect.fail(conflict)
        })
      )
      if (isTold) return true
    }
  }
)

/** Whether a run waits in the thread of a message; makes the thread if it is new. */
const isWaiting = (
  store: Conversations["Service"],
  { message, owner, thread, title, version }: BeginOptions
): Effect.Effect<boolean, BeginError> => {
  if (message === undefined) return Effect.succeed(false)
  const text = textOf(Prompt.make(message))
  const found = version === undefined
    ? store.create({ owner, thread, title: title ?? (text === "" ? undefined : cutText(text, 60)) })
    : Effect.map(store.read({ owner, thread, after: version }), ({ thread }) => thread)
  return Effect.map(found, (thread) => thread.isWaiting)
}

/**
 * Begins a turn of a chat: makes the thread if it is new, appends what the user says, and holds the thread until `end`, or until
 * the scope is closed. A turn that begins meanwhile fails with `ThreadBusy` before anything is run, so that no two runs
 * answer one conversation. Use it where `send` is not enough: for streamed runs, or runs that a server keeps.
 *
 * **Example** (A turn by hand)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Prompt } from "effect/ai"
 * import { Agent, Conversation } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const poet = Agent.make("poet", { input: Prompt.Prompt, prompt: (conversation) => conversation })
 *
 * const program = Effect.gen(function*() {
 *   const turn = yield* Conversation.begin({ owner: "ada", thread: "t1", message: "A line about the sea" })
 *   const { transcript } = yield* poet.report(turn.prompt)
 *   const { title, version } = yield* turn.end({ transcript })
 *   return { title, version }
 * }).pipe(
 *   Effect.scoped,
 *   Effect.provide([Conversation.layerMemory, ScriptedModel.layer([ScriptedModel.text("Wine-dark it rolls.")])])
 * )
 *
 * await Effect.runPromise(program) // => { title: "A line about the sea", version: 2 }
 * ```
 */
export const begin: (options: BeginOptions) => Effect.Effect<Turn, BeginError, Conversations | Scope.Scope> = Effect
  .fnUntraced(function*(options: BeginOptions) {
    const store = yield* Conversations
    const { owner, thread } = options
    const key = { owner, thread }
    const message = options.message === undefined ? Prompt.empty : Prompt.make(options.message)
    const waits = yield* isWaiting(store, options)
    const claim = { id: yield* randomId, lease: Duration.fromInputUnsafe(options.lease ?? "30 seconds") }
    const asked = yield* Lease.moment
    const isHeld = waits && (yield* endWaiting(options, claim))
    const appended = store.append({
      ...key,
      events: said(message.content),
      runId: options.runId,
      version: isHeld ? undefined : options.version,
      claim
    })
    yield* isHeld
      ? Effect.onError(appended, () => Effect.ignore(store.append({ ...key, events: [], release: claim.id })))
      : appended
    const lease = Lease.make(claim.lease, store.renew(key, claim))
    let isEnded = false
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        lease.stop,
        Effect.suspend(() =>
          isEnded ? Effect.void : Effect.catchCause(
            Effect.asVoid(store.append({ ...key, events: [], release: claim.id })),
            (cause) =>
              Effect.logWarning("A thread could not be given back: it is free when its lease has run out", cause)
          )
        )
      )
    )
    yield* lease.start(asked)
    const content = yield* store.read(key)
    const { mended, prompt } = mend(sent(content.entries))
    const end = (ended: EndOptions) =>
      Effect.uninterruptible(Effect.andThen(
        lease.stop,
        store.append({
          ...key,
          events: eventsOf(ended, prompt, content.entries.at(-1)?.position ?? 0),
          runId: ended.runId,
          release: claim.id,
          snapshot: (ended.snapshot as Schema.Json | undefined) ?? null
        }).pipe(
          Effect.tap(() => Effect.sync(() => isEnded = true)),
          // Neither a version nor a claim was given: nothing stands against it.
          Effect.catchTags({ VersionConflict: Effect.die, ThreadBusy: Effect.die })
        )
      ))
    return {
      thread: content.thread,
      prompt,
      mended,
      ...(content.snapshot === undefined ? undefined : { snapshot: content.snapshot }),
      end
    }
  }, Effect.uninterruptible)
