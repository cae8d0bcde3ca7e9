/**
 * Chats: runs on threads. A turn claims its thread for as long as its run runs, and its messages are appended before
 * the end is emitted to readers.
 */
/* oxlint-disable max-lines -- the operations on a chat share its turns and threads */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Prompt from "effect/ai/Prompt"
import * as Approval from "@recourse/core/Approval"
import * as Conversation from "@recourse/core/Conversation"
import { RunConflict, type RunInfo, type RunsService, UnknownRun, type UserMessage } from "@recourse/core/Runs"
import { sha256 } from "../sha256.ts"
import { AnswerOutdated } from "./errors.ts"
import { type Answers, decisionsOf, type Question } from "./questions.ts"
import { endOfSegment, follow, lastEnd } from "./segments.ts"

/**
 * Treatment of a new message while a run of its thread has not ended. `join`: the run's model reads it with its next request; if
 * the run has none any more, the message is queued.
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

/**
 * A thread whose first message is answered.
 *
 * @category models
 * @since 0.2.0
 */
export interface NewThread {
  readonly owner: string
  readonly thread: string
  /** Conversation so far. */
  readonly conversation: Prompt.Prompt
}

/** Options of chats. */
export interface ChatOptions {
  readonly onBusy: OnBusy
  readonly title?: ((said: NewThread) => Effect.Effect<string, unknown>) | undefined
}

/** A run, and the number of its pauses at its start or resumption. Absent for a run that a message has joined. */
export interface Begun {
  readonly runId: string
  readonly segment?: number
}

const digest = (parts: ReadonlyArray<string>, length: number): Effect.Effect<string> =>
  Effect.map(sha256(JSON.stringify(parts)), (hashed) => hashed.slice(0, length))

/** Prefix of the ids of a thread's runs. */
const threadPrefix = (owner: string, thread: string): Effect.Effect<string> =>
  Effect.map(digest([owner, thread], 24), (hashed) => `run_${hashed}_`)

/** The id of a run that answers no thread. No client can choose the id of another owner's run. */
export const runIdOf = (parts: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.map(digest(parts, 48), (hashed) => `run_${hashed}`)

/** True if a conversation is a user's first message. */
const isFirst = ({ content }: Prompt.Prompt): boolean => content.filter(({ role }) => role === "user").length === 1

/** Number of threads with a cached stored state. */
const mostStored = 10_000

/** Wait of a message for the end of a run that it has interrupted. */
const compensationTimeout = "30 seconds"

/** Whoever has watched a run that is over stores it, and gives its thread back. */
const handedOver = { times: 50, each: "100 millis" } as const

const nameOf = ({ owner, thread }: Conversation.ThreadKey): string => JSON.stringify([owner, thread])

/** Whose message it is. */
const roleOf = ({ message }: { readonly message: unknown }): unknown =>
  (message as { readonly role?: unknown } | null)?.role

/** Entries of a run that are stored before its turn ends. */
const early = new Set<Conversation.Event["_tag"]>(["HistoryCompacted", "WriteStarted", "WriteEnded"])

/** True if a thread has a run's messages, besides the answered one. */
const isStored = (entries: ReadonlyArray<Conversation.Entry>, runId: string): boolean =>
  entries.some(({ event, runId: of }) =>
    of === runId && !early.has(event._tag) && !(event._tag === "MessageAdded" && roleOf(event) === "user")
  )

/** Makes an effect interruptible in an uninterruptible region. */
type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** A turn, and how its thread is given back. */
interface Held {
  readonly turn: Conversation.Turn
  readonly release: Effect.Effect<void>
}

/** The content of a user's message, without a page's context of it. */
const contentOf = (input: Prompt.RawInput): UserMessage["content"] | undefined => {
  const messages = (Conversation.encode(Prompt.make(input)) as unknown as typeof Prompt.Prompt.Encoded).content
  const [message] = messages
  return messages.length === 1 && message?.role === "user" ? message.content : undefined
}

/** The chats of a server. */
export class Chats {
  /** Turns of this process: done when their messages are stored. */
  private readonly turns = new Map<string, Deferred.Deferred<void>>()
  /** Threads of the runs that this process has started, until they have ended. */
  private readonly threads = new Map<string, Conversation.ThreadKey>()
  /** Up to which version it is known of a thread that all turns are stored. */
  private readonly stored = new Map<string, number>()
  readonly runs: RunsService
  /** True if runs continue when the observing server ends. */
  private readonly outlives: boolean
  private readonly conversations: Conversation.Conversations["Service"]
  readonly onBusy: OnBusy
  private readonly title: ChatOptions["title"]
  private readonly scope: Scope.Scope

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
    this.title = title
    this.scope = scope
  }

  /** A run of an owner; another owner's run looks like a missing one. */
  run(runId: string, owner: string | undefined) {
    return Effect.flatMap(
      this.runs.get(runId),
      (run) => run.owner === owner ? Effect.succeed(run) : Effect.fail(new UnknownRun({ runId }))
    )
  }

  /**
   * Starts the run that answers a message; returns the existing one if there is one. Its sender may leave at any
   * moment, like a closed page: it is withdrawn only while the message is queued.
   */
  readonly send = (message: NewMessage): Effect.Effect<Begun, SendError> =>
    Effect.uninterruptibleMask((restore) => this.sent(message, restore))

  private readonly sent = Effect.fnUntraced(
    { self: this },
    function*(
      { agent, message, messageId, owner, replaces, thread }: NewMessage,
      restore: Restore
    ): Effect.fn.Return<Begun, SendError> {
      const prefix = yield* threadPrefix(owner, thread)
      const runId = prefix + (yield* digest([agent, messageId], 24))
      const known = yield* Effect.option(this.run(runId, owner))
      if (Option.isSome(known)) {
        if (!(yield* this.answers(runId, { owner, thread }, message))) {
          return yield* new RunConflict({ runId, differs: "input" })
        }
        return { runId, segment: 0 }
      }
      if (replaces !== undefined && (yield* this.current(owner, thread))?.runId !== replaces) {
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
        this.watch(runId, 0, threadClaim, { owner, thread })
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
      const run = yield* this.current(owner, thread)
      const content = contentOf(message)
      if (run === undefined || runs.addMessage === undefined || content === undefined) return undefined
      if (!(yield* runs.addMessage(run.runId, { id, content }))) return undefined
      return { runId: run.runId }
    }
  )

  /** True if a run answers this message; a removed message counts too. */
  private answers(runId: string, key: Conversation.ThreadKey, message: Prompt.RawInput | undefined) {
    if (message === undefined) return Effect.succeed(true)
    // The page's context of a message may differ each time that it is sent.
    const plain = Prompt.make(message).content.map((one) => ({ ...one, options: {} }) as Prompt.Message)
    const events = JSON.stringify(Conversation.toEvents(plain))
    return this.conversations.read(key).pipe(
      Effect.map(({ entries }) => {
        const own = new Set(
          Conversation.visibleMessages(entries).flatMap((one) =>
            one.runId === runId && one.message.role === "user" && one.joinedAs === undefined ? [one.position] : []
          )
        )
        const said = entries.flatMap(({ event, position }) =>
          own.has(position) && event._tag === "MessageAdded"
            ? [{ ...event, message: { ...event.message as object, options: {} } }]
            : []
        )
        return said.length === 0 || JSON.stringify(said) === events
      }),
      Effect.catchTag("ThreadNotFound", () => Effect.succeed(true))
    )
  }

  /** Stops the running or waiting run of a thread, and deletes the thread. */
  readonly remove = Effect.fnUntraced(
    { self: this },
    function*(key: Conversation.ThreadKey) {
      const { owner, thread } = key
      // A missing thread is not stopped.
      yield* this.conversations.read(key)
      const run = (yield* this.goingOn(owner, thread)) ?? (yield* this.current(owner, thread, "waiting"))
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
      const run = yield* this.run(runId, owner)
      const isOfThread = thread === undefined || runId.startsWith(yield* threadPrefix(owner, thread))
      if (!isOne || !isOfThread || run.status !== "waiting" || (yield* this.pauses(runId)) !== segment + 1) {
        return yield* new Approval.DecisionRefused({ reason: "unknown_call" })
      }
      const decisions = yield* decisionsOf(run.pending, answers, by)
      return yield* this.resume(run, decisions, thread === undefined ? undefined : { owner, thread }, segment + 1)
    }
  )

  /** The calls of client tools that a run waits for, under the ids by which pages know them. None of a run that does not wait. */
  readonly clientCalls = Effect.fnUntraced(
    { self: this },
    function*(run: RunInfo) {
      const { pending, runId, status } = run
      const calls = pending.filter(({ code }) => code === "client_tool")
      if (status !== "waiting" || calls.length === 0) return new Map<string, Question>()
      const segment = (yield* this.pauses(runId)) - 1
      return new Map(calls.flatMap(({ callId }) => {
        const question: Question = { runId, segment, callId }
        return [[callId, question], [`${runId}/${callId}`, question]]
      }))
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
      this.pauses(run.runId),
      (segment) => this.resume(run, decisions, this.threads.get(run.runId), segment)
    )

  /** Returns the threads of an owner with a run that waits for people. */
  readonly waiting = Effect.fnUntraced({ self: this }, function*(owner: string, threads: ReadonlyArray<string>) {
    const runs = yield* this.runs.list({ owner, status: "waiting", limit: 1000 })
    if (runs.length === 0) return new Set<string>()
    const prefixes = yield* Effect.forEach(threads, (thread) => threadPrefix(owner, thread))
    return new Set(threads.filter((_, index) => runs.some(({ runId }) => runId.startsWith(prefixes[index]!))))
  })

  /** The thread that a run answers in, if it does in one that is there. */
  readonly threadOf = Effect.fnUntraced({ self: this }, function*({ owner, runId }: RunInfo) {
    const known = this.threads.get(runId)
    if (known !== undefined || owner === undefined) return known
    for (let after: string | undefined = undefined;;) {
      const page: Conversation.ThreadList = yield* this.conversations.list({ owner, limit: 200, after })
      for (const { id } of page.threads) {
        if (runId.startsWith(yield* threadPrefix(owner, id))) return { owner, thread: id }
      }
      if (page.next === undefined) return undefined
      after = page.next
    }
  })

  /**
   * Adds a message for the model of a run's thread: it reads it in its next turn. Pages see that the thread has
   * changed.
   */
  readonly tell = Effect.fnUntraced({ self: this }, function*(run: RunInfo, text: string) {
    const key = yield* this.threadOf(run)
    if (key === undefined) return
    const events = Conversation.toEvents(
      [Prompt.makeMessage("user", { content: [Prompt.makePart("text", { text })] })],
      "model"
    )
    yield* Effect.catchTag(this.conversations.append({ ...key, events }), "ThreadNotFound", () => Effect.void)
  })

  /** Interrupts a run and waits until its messages are stored: in its thread, if that is known. */
  readonly stop = Effect.fnUntraced(
    { self: this },
    function*(runId: string, owner: string | undefined, thread?: string) {
      const key = this.threads.get(runId) ??
        (owner === undefined || thread === undefined ? undefined : { owner, thread })
      const { status } = yield* this.run(runId, owner)
      yield* this.runs.cancel(runId)
      if (status !== "waiting" || key === undefined) return yield* this.settled(runId)
      // Messages before the pause stay, with their compensations. The present claimant of the thread stores them.
      const threadClaim = yield* Effect.catchTag(this.hold({ ...key, runId }), "ThreadBusy", () => Effect.undefined)
      if (threadClaim !== undefined) yield* this.watch(runId, undefined, threadClaim, key)
      // A longer compensation is not awaited.
      yield* Effect.timeoutOption(Effect.interruptible(this.settled(runId)), "5 seconds")
    },
    Effect.uninterruptible
  )

  /**
   * Ends a run at its pause, for clients of a protocol that cannot answer: a waiting run would be an open question for
   * each repeated request. {@link settled} follows that.
   */
  readonly endAtPause = (runId: string): Effect.Effect<void> => {
    const done = Deferred.makeUnsafe<void>()
    this.turns.set(runId, done)
    const watched = endOfSegment(this.runs, runId, 0).pipe(
      Effect.flatMap((end) => end?.outcome === "paused" ? this.runs.cancel(runId) : Effect.void),
      Effect.catchCause((cause) => Effect.logError(`Run ${runId} waits and could not be ended`, cause)),
      Effect.ensuring(Effect.suspend(() => {
        this.turns.delete(runId)
        return Deferred.succeed(done, undefined)
      }))
    )
    return Effect.asVoid(Effect.forkIn(watched, this.scope, { startImmediately: true }))
  }

  /** Done when the turn of a run, if this process has it, is stored. */
  settled(runId: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const turn = this.turns.get(runId)
      return turn === undefined ? Effect.void : Deferred.await(turn)
    })
  }

  /**
   * Returns the running run of a thread, if there is one: one that waits for its turn, or for its compensation, counts
   * too.
   */
  goingOn(owner: string, thread: string) {
    return Effect.flatMap(
      this.current(owner, thread, "running"),
      (run) => run === undefined ? this.current(owner, thread, "queued") : Effect.succeed(run)
    )
  }

  /** The newest run of a thread, or the newest one with a status. */
  current(owner: string, thread: string, status?: RunInfo["status"]) {
    return Effect.flatMap(threadPrefix(owner, thread), (prefix) => this.newest(owner, prefix, status))
  }

  private newest(owner: string, prefix: string, status: RunInfo["status"] | undefined) {
    return Effect.map(this.runs.list({ owner, status, idPrefix: prefix, limit: 1 }), ([newest]) => newest)
  }

  /** The runs of a thread, the oldest first. */
  ofThread(owner: string, thread: string) {
    return Effect.flatMap(threadPrefix(owner, thread), (prefix) =>
      Effect.map(
        this.runs.list({ owner, idPrefix: prefix, limit: 1000 }),
        (found): ReadonlyArray<RunInfo> => found.toReversed()
      ))
  }

  private resume(
    run: RunInfo,
    decisions: ReadonlyArray<Approval.Decision>,
    key: Conversation.ThreadKey | undefined,
    segment: number
  ) {
    const { runId } = run
    const startedRun: Begun = { runId, segment }
    const go = this.runs.decide(runId, decisions)
    if (key === undefined) return Effect.as(go, startedRun)
    return Effect.uninterruptible(Effect.flatMap(this.hold({ ...key, runId }), (threadClaim) =>
      Effect.onError(
        threadClaim.turn.recorded(go).pipe(
          Effect.andThen(this.watch(runId, segment, threadClaim, key)),
          Effect.as(startedRun)
        ),
        () => threadClaim.release
      )))
  }

  /** Claims the thread of a message when it has no waiting or running run any more, or reports that it is busy. */
  private readonly take = Effect.fnUntraced(
    { self: this },
    function*(turn: Conversation.BeginOptions, restore: Restore): Effect.fn.Return<Held, SendError> {
      const { owner, thread } = turn
      for (let left = this.onBusy === "refuse" ? 0 : handedOver.times;;) {
        const waiting = yield* this.current(owner, thread, "waiting")
        if (waiting !== undefined) {
          // Also one that has come to wait while the message was queued.
          if (this.onBusy !== "interrupt") return yield* new Conversation.ThreadBusy({ thread })
          yield* this.stop(waiting.runId, owner, thread)
        }
        yield* this.adopt({ owner, thread })
        const threadClaim = yield* Effect.catchTag(this.hold(turn), "ThreadBusy", (busy) => Effect.succeed(busy))
        if ("turn" in threadClaim) return threadClaim
        const run = this.onBusy === "refuse" ? undefined : yield* this.goingOn(owner, thread)
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
        this.turns.has(runId) ? this.settled(runId) : Effect.asVoid(lastEnd(this.runs, runId))
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
      const { entries, thread } = yield* this.conversations.read({ ...key, after: this.stored.get(nameOf(key)) })
      const runId = entries.findLast((entry) => entry.runId !== undefined)?.runId
      if (runId === undefined || this.turns.has(runId)) return
      if (isStored(entries, runId)) return this.noteStored(key, thread)
      const run = yield* Effect.option(this.run(runId, key.owner))
      if (Option.isNone(run) || run.value.status === "waiting") return
      const takeOver = run.value.status !== "running" && run.value.status !== "queued"
      const threadClaim = yield* Effect.option(this.hold({ ...key, runId, takeOver }))
      // Otherwise its starter observes it.
      if (Option.isNone(threadClaim)) return
      yield* this.watch(runId, undefined, threadClaim.value, key)
      if (takeOver) yield* this.settled(runId)
    },
    Effect.catchTag("ThreadNotFound", () => Effect.void),
    Effect.uninterruptible
  )

  private noteStored(key: Conversation.ThreadKey, { version }: Conversation.Thread): void {
    const name = nameOf(key)
    this.stored.delete(name)
    this.stored.set(name, version)
    if (this.stored.size > mostStored) this.stored.delete(this.stored.keys().next().value!)
  }

  /** Begins a turn, which ends when it is released. */
  private hold(options: Conversation.BeginOptions): Effect.Effect<Held, Conversation.BeginError> {
    return Effect.flatMap(Scope.make(), (scope) => {
      const release = Scope.close(scope, Exit.void)
      const turn = Effect.onError(Scope.provide(Conversation.begin(options), scope), () => release)
      return Effect.map(turn, (turn) => ({ turn, release }))
    }).pipe(Effect.uninterruptible, Effect.provideService(Conversation.Conversations, this.conversations))
  }

  /**
   * Stores the messages when the segment of the run ends, and releases the thread. Without one: when the run ends, or
   * waits.
   */
  private watch(
    runId: string,
    segment: number | undefined,
    { release, turn }: Held,
    key: Conversation.ThreadKey
  ): Effect.Effect<void> {
    const done = Deferred.makeUnsafe<void>()
    this.turns.set(runId, done)
    this.threads.set(runId, key)
    const ended = segment === undefined ? lastEnd(this.runs, runId) : endOfSegment(this.runs, runId, segment)
    const isCancelled = Effect.map(this.runs.get(runId), ({ status }) => status === "cancelled")
    const store = ended.pipe(
      Effect.flatMap((end) =>
        end?.outcome === "paused" ? Effect.map(isCancelled, (isOver) => isOver ? end : "waits") : Effect.succeed(end)
      ),
      Effect.flatMap((end) => {
        // A waiting run continues with this turn's message: all of it is stored then.
        if (end === "waits") return Effect.void
        this.threads.delete(runId)
        return end === undefined ? Effect.void : Effect.andThen(
          Effect.map(
            turn.end({ transcript: end.transcript, compacted: end.compacted, replacedInput: end.replacedInput, runId }),
            (thread) => this.noteStored(key, thread)
          ),
          end.outcome === "success" && isFirst(turn.prompt) ? this.name(key, end.transcript) : Effect.void
        )
      }),
      Effect.catchCause((cause) => Effect.logError(`The messages of run ${runId} could not be stored`, cause)),
      Effect.ensuring(release),
      Effect.ensuring(Effect.suspend(() => {
        if (this.turns.get(runId) === done) this.turns.delete(runId)
        return Deferred.succeed(done, undefined)
      }))
    )
    return Effect.asVoid(Effect.forkIn(store, this.scope, { startImmediately: true }))
  }

  /** Sets the title of a thread, in parallel to everything else. A person's title set meanwhile stays. */
  private name(key: Conversation.ThreadKey, conversation: Prompt.Prompt): Effect.Effect<void> {
    const { conversations, scope, title } = this
    if (title === undefined) return Effect.void
    const titled = Effect.map(conversations.read(key), ({ thread }) => thread.title)
    const named = Effect.gen(function*() {
      const before = yield* titled
      const made = (yield* title({ ...key, conversation })).trim()
      if (made !== "" && (yield* titled) === before) yield* conversations.rename({ ...key, title: made.slice(0, 200) })
    })
    const logged = Effect.catchCause(
      named,
      (cause) => Effect.logWarning(`Thread ${key.thread} could not be named`, cause)
    )
    return Effect.asVoid(Effect.forkIn(logged, scope))
  }

  /** Number of a waiting run's pauses. */
  private pauses(runId: string) {
    return Effect.map(
      Stream.runCollect(follow(this.runs, runId)),
      (events) => events.filter(({ event }) => event._tag === "RunFinished").length
    )
  }
}

/** Reason why a message could not be answered: no run was started. */
export type SendError =
  | Effect.Error<ReturnType<RunsService["start"]>>
  | Conversation.BeginError
  | UnknownRun
  | AnswerOutdated
