/** A turn of a chat: claims the thread, provides the model's messages, and appends the new ones. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Prompt from "effect/ai/Prompt"
import { cutText } from "../foundation/json/jsonShape.ts"
import * as Lease from "../foundation/lease.ts"
import { mend, type Mending } from "../history/mendHistory.ts"
import { CurrentWriteLog } from "../run/writes/writeLog.ts"
import { withdrawSnapshot } from "../approval/snapshotClaims.ts"
import { auditAtPage, auditUnknown } from "./auditUnknown.ts"
import { isClaimOf, newClaimId } from "./stores/claimIds.ts"
import { endOf } from "./endTurn.ts"
import type { ConversationError, ThreadBusy, ThreadNotFound, TurnOver, VersionConflict } from "./conversationErrors.ts"
import { openCalls } from "./pendingCalls.ts"
import { regeneration } from "./regenerate.ts"
import { type AppendOptions, Conversations, type ThreadContent, type ThreadKey } from "./conversationService.ts"
import type { Thread } from "./thread.ts"
import { endOfWaiting, type EndOptions, readSnapshot } from "./turnEvents.ts"
import { TurnWrites } from "./turnWrites.ts"
import { storeUnknown } from "./unknownWrites.ts"
import { readThread, toEvents } from "./threadView.ts"

/**
 * Options to start a turn.
 *
 * @category options
 * @since 0.2.0
 */
export interface BeginOptions extends ThreadKey {
  /** The user's message. Absent: no new message (a run is resumed, or the last message is answered again). */
  readonly message?: Prompt.RawInput | undefined
  /**
   * Answers the last message again, without a new one. The model reads the conversation up to that message, and the
   * calls since, with their results. It does not read the text of the answer before. The question of a waiting run is
   * withdrawn, just like by a message. Ignored with a `message`. Default: false.
   */
  readonly regenerate?: boolean | undefined
  /**
   * The answering run, if its id is known: the message is stored with it, so that a run without messages has its
   * position.
   */
  readonly runId?: string | undefined
  /** The version that the user has seen. Left out: whatever the thread has. */
  readonly version?: number | undefined
  /** The title of a thread that is new. Default: the beginning of the message. */
  readonly title?: string | undefined
  /**
   * Lease of the thread after the last renewal; it is renewed after each third of it. When the process dies, another
   * turn can start after that time. Default: 30 seconds.
   */
  readonly lease?: Duration.Input | undefined
  /**
   * Claims the thread even if an earlier claim for the run `runId` has it: the process of that claim died. Set it only if that run has ended, to
   * store its end. A claim for another run, or for a run without an id, is not taken. Ignored without `runId`. Default: false.
   */
  readonly takeOver?: boolean | undefined
}

/**
 * A started turn: its thread is claimed until it ends, or its scope is closed.
 *
 * @category models
 * @since 0.2.0
 */
export interface Turn {
  readonly thread: Thread
  /** The model's messages: the conversation so far, with the user's new message. It is well formed. */
  readonly prompt: Prompt.Prompt
  /** Mended faults of the stored conversation. */
  readonly mended: ReadonlyArray<Mending>
  /** The snapshot of the run that waits, if one does. */
  readonly snapshot?: Schema.Json
  /**
   * Calls of earlier turns with started writes, if that turn has not ended because its process died. If the run of the
   * `snapshot` has some, an earlier resumption has started them.
   */
  readonly started: ReadonlyArray<StartedCall>
  /**
   * Runs an agent so that the thread has each of its writes when it starts, before the executor runs, and when it ends: the next turn reads them
   * if this process dies. A start that cannot be stored is a defect (`WriteNotStored`, with the store's error as `reason`): the write does not start.
   */
  readonly recorded: <A, E, R>(run: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * Appends the new messages, regardless of other appends, and releases the thread. If another turn has claimed the
   * thread since, that turn's snapshot stays, and the appended entries end the waits of this run. A second call fails
   * with `TurnOver`.
   */
  readonly end: (
    options: EndOptions
  ) => Effect.Effect<Thread, ThreadNotFound | ConversationError | TurnOver>
}

/**
 * A call that has started a write in a turn that has not ended.
 *
 * @category models
 * @since 0.2.0
 */
export interface StartedCall {
  readonly runId: string
  readonly callId: string
  /** True if its result is known. */
  readonly hasResult: boolean
}

/**
 * A turn could not start: no entry was appended.
 *
 * @category errors
 * @since 0.2.0
 */
export type BeginError = ThreadNotFound | VersionConflict | ThreadBusy | ConversationError

const textOf = (message: Prompt.Prompt): string =>
  message.content.flatMap(({ content, role }) =>
    role !== "user" ? [] : content.flatMap((part) => part.type === "text" ? [part.text] : [])
  ).join(" ").replaceAll(/\s+/g, " ").trim()

type Claim = NonNullable<AppendOptions["claim"]>

/** Claims the thread of a waiting run, and records the run's calls. Returns whether the thread is claimed. */
const endWaiting = Effect.fnUntraced(
  function*(options: BeginOptions, claim: Claim): Effect.fn.Return<boolean, BeginError, Conversations> {
    const store = yield* Conversations
    const { owner, thread } = options
    for (;;) {
      const content = yield* store.read({ owner, thread })
      if (content.snapshot === undefined) return false
      const version = options.version ?? content.thread.version
      const open = openCalls(content.entries)
      const waiting = Option.getOrUndefined(readSnapshot(content.snapshot))
      // A turn that has the thread may resume the run: then this message is refused.
      const withdrawn = waiting === undefined || content.claim !== undefined
        ? undefined
        : yield* withdrawSnapshot(waiting)
      const end = endOfWaiting(content, open, withdrawn?.isUnknown === true)
      const isReported = yield* store.append({ owner, thread, ...end, version, claim, snapshot: null }).pipe(
        Effect.onError(() => withdrawn?.cancel ?? Effect.void),
        Effect.as(true),
        // Something was appended meanwhile: that is read, too.
        Effect.catchTags({
          VersionConflict: (conflict) => options.version === undefined ? Effect.succeed(false) : Effect.fail(conflict)
        })
      )
      if (isReported) {
        if (withdrawn !== undefined) yield* withdrawn.confirm
        yield* Effect.forEach(open, (call) => call.runId === waiting?.runId ? auditUnknown(call) : Effect.void)
        if (waiting !== undefined) yield* auditAtPage(waiting)
        return true
      }
    }
  }
)

/**
 * True if a waiting run's question is withdrawn: by a message, or by another answer to the last one. Creates the thread
 * of a message if it is new.
 */
const isCalledOff = (
  store: Conversations["Service"],
  { message, owner, regenerate, thread, title, version }: BeginOptions
): Effect.Effect<boolean, BeginError> => {
  if (message === undefined) {
    return regenerate === true
      ? Effect.map(store.read({ owner, thread, after: version }), ({ thread }) => thread.isWaiting)
      : Effect.succeed(false)
  }
  const text = textOf(Prompt.make(message))
  const found = version === undefined
    ? store.create({ owner, thread, title: title ?? (text === "" ? undefined : cutText(text, 60)) })
    : Effect.map(store.read({ owner, thread, after: version }), ({ thread }) => thread)
  return Effect.map(found, (thread) => thread.isWaiting)
}

/** The claim of the run that a turn takes over. */
const takenFrom = (
  store: Conversations["Service"],
  { owner, runId, takeOver, thread }: BeginOptions
): Effect.Effect<string | undefined, BeginError> =>
  takeOver !== true || runId === undefined ? Effect.undefined : Effect.flatMap(
    store.read({ owner, thread }),
    ({ claim }) =>
      claim === undefined
        ? Effect.undefined
        : Effect.map(isClaimOf(claim.id, runId), (isOfRun) => isOfRun ? claim.id : undefined)
  )

/** Appends that the last message is answered again, and returns the thread as it is then. */
const answerAgain = (
  store: Conversations["Service"],
  options: Omit<AppendOptions, "events">,
  { entries, thread }: ThreadContent
): Effect.Effect<ThreadContent, BeginError> => {
  const { prompt } = mend(readThread(entries).prompt)
  const appended = store.append({ ...options, events: [regeneration(prompt, thread.version)] })
  return Effect.andThen(appended, store.read({ owner: options.owner, thread: options.thread }))
}

/**
 * Starts a turn of a chat: creates the thread if it is new, appends the user's message, and claims the thread until
 * `end`, or until the scope is closed. A turn that starts meanwhile fails with `ThreadBusy` before any call runs, so
 * that no two runs answer one conversation. Use it if `send` is not enough: for streamed runs, or runs of a server.
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
 *
 * @category running
 * @since 0.2.0
 */
export const begin: (options: BeginOptions) => Effect.Effect<Turn, BeginError, Conversations | Scope.Scope> = Effect
  .fnUntraced(function*(options: BeginOptions) {
    const store = yield* Conversations
    const { owner, thread } = options
    const key = { owner, thread }
    const message = options.message === undefined ? Prompt.empty : Prompt.make(options.message)
    const waits = yield* isCalledOff(store, options)
    const claim = { id: yield* newClaimId(options), lease: Duration.fromInputUnsafe(options.lease ?? "30 seconds") }
    const asked = yield* Lease.moment
    const isClaimed = waits && (yield* endWaiting(options, claim))
    const appended = store.append({
      ...key,
      events: toEvents(message.content),
      runId: options.runId,
      version: isClaimed ? undefined : options.version,
      claim,
      release: yield* takenFrom(store, options)
    })
    yield* isClaimed
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
    const read = yield* store.read(key)
    const isNext = options.message !== undefined || options.runId !== undefined
    const addsAnswer = options.message !== undefined || options.regenerate === true
    const found = isNext ? yield* storeUnknown(store, key, read, addsAnswer ? undefined : options.runId) : []
    const known = found.length === 0 ? read : yield* store.read(key)
    const isAgain = options.regenerate === true && options.message === undefined
    const content = isAgain
      ? yield* answerAgain(store, { ...key, runId: options.runId, requiredClaim: claim.id }, known)
      : known
    const { prompt: stored, repaired } = readThread(content.entries)
    const { mended, prompt } = mend(stored)
    if (repaired.length > 0) {
      yield* Effect.logWarning(
        `Thread "${thread}" has calls with the id of an earlier call, and they are read under other ids: ${repaired.length}`
      )
    }
    const open = openCalls(content.entries)
    const writes = new TurnWrites(store, key, claim.id)
    return {
      thread: content.thread,
      prompt,
      mended: [...found, ...repaired, ...mended],
      ...(content.snapshot === undefined ? undefined : { snapshot: content.snapshot }),
      started: open.map(({ callId, result, runId }) => ({ callId, runId, hasResult: result !== undefined })),
      recorded: Effect.provideService(CurrentWriteLog, writes),
      end: endOf(store, key, {
        claim: claim.id,
        content,
        lease,
        open,
        prompt,
        writes,
        over: () => void (isEnded = true)
      })
    }
  }, Effect.uninterruptible)
