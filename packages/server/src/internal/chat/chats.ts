/**
 * Chats: runs on threads. A turn claims its thread for as long as its run runs, and its messages are appended before
 * the end is emitted to readers.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Prompt from "effect/ai/Prompt"
import * as Approval from "@recourse/core/Approval"
import * as Conversation from "@recourse/core/Conversation"
import { RunConflict, type RunInfo, type RunsService, type UnknownRun, type UserMessage } from "@recourse/core/Runs"
import { AnswerOutdated } from "./errors.ts"
import { OwnedRuns } from "./ownedRuns.ts"
import { type Answers, decisionsOf } from "./questions.ts"
import { digest, threadPrefix } from "./runIds.ts"
import { lastEnd } from "./segments.ts"
import { isStored, ThreadEntries } from "./threadEntries.ts"
import { type MakeTitle, type ThreadClaim, Turns } from "./turns.ts"

/**
 * Treatment of a new message while a run of its thread has not ended. `join`: the run's model reads it with its next request; if
 * the run has none any more, the message is queued.
 *
 * @category models
 * @since 0.2.0
 */
export type OnBusy = "refuse" | "queue" | "join" | "interrupt"

/** A message of a user. */
export interface NewMessage {
  readonly agent: string
  readonly owner: string
  readonly thread: string
  /** Identifies the message among those of the thread: a repeated one starts no run. */
  readonly messageId: string
  /** Absent: the last message is answered again. */
  readonly message?: Prompt.RawInput | undefined
  /** The run whose answer is replaced: the newest one of the thread. */
  readonly replaces?: string | undefined
}

/** Options of chats. */
export interface ChatOptions {
  readonly onBusy: OnBusy
  readonly title?: MakeTitle | undefined
}

/** A run, and the number of its pauses at its start or resumption. Absent for a run that a message has joined. */
export interface StartedRun {
  readonly runId: string
  readonly segment?: number
}

/** Wait of a message for the end of a run that it has interrupted. */
const compensationTimeout = "30 seconds"

/** Whoever has watched a run that is over stores it, and gives its thread back. */
const handedOver = { times: 50, each: "100 millis" } as const

/** Makes an effect interruptible in an uninterruptible region. */
type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** The content of a user's message, without a page's context of it. */
const contentOf = (input: Prompt.RawInput): UserMessage["content"] | undefined => {
  const messages = (Conversation.encode(Prompt.make(input)) as unknown as typeof Prompt.Prompt.Encoded).content
  const [message] = messages
  return messages.length === 1 && message?.role === "user" ? message.content : undefined
}

/** The chats of a server. */
export class Chats {
  readonly runs: RunsService
  readonly owned: OwnedRuns
  readonly turns: Turns
  readonly entries: ThreadEntries
  /** True if runs continue when the observing server ends. */
  private readonly outlives: boolean
  private readonly conversations: Conversation.Conversations["Service"]
  readonly onBusy: OnBusy

  constructor(
    runs: RunsService,
    conversations: Conversation.Conversations["Service"],
    scope: Scope.Scope,
    { onBusy, title }: ChatOptions
  ) {
    this.runs = runs
    this.outlives = runs.drain === undefined
    this.conversations = conversations
    this.onBusy = onBusy
    this.owned = new OwnedRuns(runs)
    this.turns = new Turns(runs, conversations, scope, title)
    this.entries = new ThreadEntries(conversations, this.turns)
  }

  /**
   * Starts the run that answers a message; returns the existing one if there is one. Its sender may leave at any
   * moment, like a closed page: it is withdrawn only while the message is queued.
   */
  readonly send = (message: NewMessage): Effect.Effect<StartedRun, SendError> =>
    Effect.uninterruptibleMask((restore) => this.sent(message, restore))

  private readonly sent = Effect.fnUntraced(
    { self: this },
    function*(
      { agent, message, messageId, owner, replaces, thread }: NewMessage,
      restore: Restore
    ): Effect.fn.Return<StartedRun, SendError> {
      const prefix = yield* threadPrefix(owner, thread)
      const runId = prefix + (yield* digest([agent, messageId], 24))
      const known = yield* Effect.option(this.owned.get(runId, owner))
      if (Option.isSome(known)) {
        if (!(yield* this.entries.answers(runId, { owner, thread }, message))) {
          return yield* new RunConflict({ runId, differs: "input" })
        }
        return { runId, segment: 0 }
      }
      if (replaces !== undefined && (yield* this.owned.current(owner, thread))?.runId !== replaces) {
        return yield* new AnswerOutdated()
      }
      const joined = this.onBusy === "join" && message !== undefined
        ? yield* restore(this.join({ owner, thread }, messageId, message))
        : undefined
      if (joined !== undefined) return joined
      const turn = { owner, thread, message, runId, regenerate: message === undefined }
      const threadClaim = yield* this.take(turn, restore)
      const startedRun = Effect.andThen(
        threadClaim.turn.recorded(
          this.runs.start({ agent, owner, runId, input: Conversation.encode(threadClaim.turn.prompt) })
        ),
        this.turns.watch(runId, 0, threadClaim, { owner, thread })
      )
      yield* Effect.onError(startedRun, () => threadClaim.release)
      return { runId, segment: 0 }
    }
  )

  /** Adds a message to the running run of its thread; `undefined` if it has not joined one. */
  private readonly join = Effect.fnUntraced(
    { self: this },
    function*({ owner, thread }: Conversation.ThreadKey, id: string, message: Prompt.RawInput) {
      const { runs } = this
      const run = yield* this.owned.current(owner, thread)
      const content = contentOf(message)
      if (run === undefined || runs.addMessage === undefined || content === undefined) return undefined
      if (!(yield* runs.addMessage(run.runId, { id, content }))) return undefined
      return { runId: run.runId }
    }
  )

  /** Stops the running or waiting run of a thread, and deletes the thread. */
  readonly remove = Effect.fnUntraced(
    { self: this },
    function*(key: Conversation.ThreadKey) {
      const { owner, thread } = key
      // A missing thread is not stopped.
      yield* this.conversations.read(key)
      const run = (yield* this.owned.running(owner, thread)) ?? (yield* this.owned.current(owner, thread, "waiting"))
      if (run !== undefined) yield* this.stop(run.runId, owner, thread)
      yield* this.conversations.delete(key)
    },
    Effect.uninterruptible
  )

  /** Resumes a waiting run. The answers are about calls of one pause of one run. */
  readonly decide = Effect.fnUntraced(
    { self: this },
    function*(
      { by, owner, thread }: { readonly owner: string; readonly thread: string | undefined; readonly by: string },
      answers: Answers
    ) {
      const { runId, segment } = answers[0]![0]
      const isOne = answers.every(([question]) => question.runId === runId && question.segment === segment)
      const run = yield* this.owned.get(runId, owner)
      const isOfThread = thread === undefined || runId.startsWith(yield* threadPrefix(owner, thread))
      if (!isOne || !isOfThread || run.status !== "waiting" || (yield* this.owned.pauses(runId)) !== segment + 1) {
        return yield* new Approval.DecisionRefused({ reason: "unknown_call" })
      }
      const decisions = yield* decisionsOf(run.pending, answers, by)
      return yield* this.resume(run, decisions, thread === undefined ? undefined : { owner, thread }, segment + 1)
    }
  )

  /** Fails the calls of client tools whose page has not answered in time. */
  readonly expire = Effect.fnUntraced({ self: this }, function*(run: RunInfo, now: number) {
    const late = run.pending.filter(({ code, expiresAt }) => code === "client_tool" && expiresAt < now)
    if (run.status !== "waiting" || late.length === 0) return
    yield* this.decideAll(run, late.map((call) => Approval.fail(call, null, { by: "timeout" })))
  })

  /** Resumes a run by decisions that name the calls themselves. The run may be one of a thread. */
  readonly decideAll = (run: RunInfo, decisions: ReadonlyArray<Approval.Decision>) =>
    // A decided call does not make a thread busy.
    run.status !== "waiting" ? Effect.fail(new Approval.DecisionRefused({ reason: "unknown_call" })) : Effect.flatMap(
      this.owned.pauses(run.runId),
      (segment) => this.resume(run, decisions, this.turns.threadOf(run.runId), segment)
    )

  /** Interrupts a run and waits until its messages are stored: in its thread, if that is known. */
  readonly stop = Effect.fnUntraced(
    { self: this },
    function*(runId: string, owner: string | undefined, thread?: string) {
      const key = this.turns.threadOf(runId) ??
        (owner === undefined || thread === undefined ? undefined : { owner, thread })
      const { status } = yield* this.owned.get(runId, owner)
      yield* this.runs.cancel(runId)
      if (status !== "waiting" || key === undefined) return yield* this.turns.settled(runId)
      // Messages before the pause stay, with their compensations. The present claimant of the thread stores them.
      const threadClaim = yield* Effect.catchTag(
        this.turns.claim({ ...key, runId }),
        "ThreadBusy",
        () => Effect.undefined
      )
      if (threadClaim !== undefined) yield* this.turns.watch(runId, undefined, threadClaim, key)
      // A longer compensation is not awaited.
      yield* Effect.timeoutOption(Effect.interruptible(this.turns.settled(runId)), "5 seconds")
    },
    Effect.uninterruptible
  )

  private resume(
    run: RunInfo,
    decisions: ReadonlyArray<Approval.Decision>,
    key: Conversation.ThreadKey | undefined,
    segment: number
  ) {
    const { runId } = run
    const startedRun: StartedRun = { runId, segment }
    const go = this.runs.decide(runId, decisions)
    if (key === undefined) return Effect.as(go, startedRun)
    return Effect.uninterruptible(Effect.flatMap(this.turns.claim({ ...key, runId }), (threadClaim) =>
      Effect.onError(
        threadClaim.turn.recorded(go).pipe(
          Effect.andThen(this.turns.watch(runId, segment, threadClaim, key)),
          Effect.as(startedRun)
        ),
        () => threadClaim.release
      )))
  }

  /** Claims the thread of a message when it has no waiting or running run any more, or reports that it is busy. */
  private readonly take = Effect.fnUntraced(
    { self: this },
    function*(turn: Conversation.BeginOptions, restore: Restore): Effect.fn.Return<ThreadClaim, SendError> {
      const { owner, thread } = turn
      for (let left = this.onBusy === "refuse" ? 0 : handedOver.times;;) {
        const waiting = yield* this.owned.current(owner, thread, "waiting")
        if (waiting !== undefined) {
          // Also one that has come to wait while the message was queued.
          if (this.onBusy !== "interrupt") return yield* new Conversation.ThreadBusy({ thread })
          yield* this.stop(waiting.runId, owner, thread)
        }
        yield* this.adopt({ owner, thread })
        const threadClaim = yield* Effect.catchTag(this.turns.claim(turn), "ThreadBusy", (busy) => Effect.succeed(busy))
        if ("turn" in threadClaim) return threadClaim
        const run = this.onBusy === "refuse" ? undefined : yield* this.owned.running(owner, thread)
        if (run !== undefined) {
          yield* this.untilOver(run, threadClaim, restore)
          left = handedOver.times
        } else if (left-- > 0) {
          yield* Effect.sleep(handedOver.each)
        } else {
          return yield* threadClaim
        }
      }
    }
  )

  /** Waits until a run has ended: it is cancelled first, if the option for messages is that. */
  private readonly untilOver = Effect.fnUntraced(
    { self: this },
    function*({ runId }: RunInfo, busy: Conversation.ThreadBusy, restore: Restore) {
      const over = Effect.suspend(() =>
        this.turns.has(runId) ? this.turns.settled(runId) : Effect.asVoid(lastEnd(this.runs, runId))
      )
      if (this.onBusy === "queue") return yield* restore(over)
      yield* Effect.ignore(this.runs.cancel(runId))
      // Its writes may have to be compensated, possibly without a process to do so.
      const isOver = yield* Effect.timeoutOption(Effect.interruptible(over), compensationTimeout)
      if (Option.isNone(isOver)) return yield* busy
    }
  )

  /**
   * Observes a run that another server has started and does not observe any more: readers of the thread, and the next
   * turn, get its messages and calls.
   */
  readonly adopt = Effect.fnUntraced(
    { self: this },
    function*(key: Conversation.ThreadKey) {
      if (!this.outlives) return
      const { entries, thread } = yield* this.conversations.read({ ...key, after: this.turns.storedVersion(key) })
      const runId = entries.findLast((entry) => entry.runId !== undefined)?.runId
      if (runId === undefined || this.turns.has(runId)) return
      if (isStored(entries, runId)) return this.turns.noteStored(key, thread)
      const run = yield* Effect.option(this.owned.get(runId, key.owner))
      if (Option.isNone(run) || run.value.status === "waiting") return
      const takeOver = run.value.status !== "running" && run.value.status !== "queued"
      const threadClaim = yield* Effect.option(this.turns.claim({ ...key, runId, takeOver }))
      // Otherwise its starter observes it.
      if (Option.isNone(threadClaim)) return
      yield* this.turns.watch(runId, undefined, threadClaim.value, key)
      if (takeOver) yield* this.turns.settled(runId)
    },
    Effect.catchTag("ThreadNotFound", () => Effect.void),
    Effect.uninterruptible
  )
}

/** Reason why a message could not be answered: no run was started. */
export type SendError =
  | Effect.Error<ReturnType<RunsService["start"]>>
  | Conversation.BeginError
  | UnknownRun
  | AnswerOutdated
