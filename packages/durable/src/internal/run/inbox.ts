/**
 * Inbox of a durable run: messages and their fates are signals of the run. The first of two fates stays, so a message
 * either joins the run or is withdrawn, in whichever processes its reader and its sender are.
 */
import type * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Message, type RunInbox } from "@recourse/core/RunInbox"
import { monotonicMillis, type UserMessage } from "@recourse/core/Runs"
import type { Changes } from "./changes.ts"
import { inboxPrefix } from "../store/requests.ts"
import type { RunStoreError, Store, StoredRun } from "../store/store.ts"
import { storeRetry } from "../store/storeRetry.ts"
import type { Execution } from "./execution.ts"

const messageName = (position: number): string => `${inboxPrefix}${position}`

const fateName = (position: number): string => `${messageName(position)}/fate`

const Fate = Schema.Literals(["joined", "withdrawn"])

type Fate = typeof Fate.Type

const decode = Schema.decodeUnknownOption(Message)

/** Time between two reads of the inbox by a run whose turns are shorter. */
const readEvery = 250

const messageAt = (
  store: Store,
  runId: string,
  position: number
): Effect.Effect<Message | undefined, RunStoreError> =>
  Effect.map(
    store.signalled(runId, messageName(position)),
    (found) => found && Option.getOrUndefined(decode(found.value))
  )

const fateAt = (store: Store, runId: string, position: number): Effect.Effect<Fate | undefined, RunStoreError> =>
  Effect.map(store.signalled(runId, fateName(position)), (found) => found?.value as Fate | undefined)

/** Decides about an undecided message. Returns its fate. */
const decide = (store: Store, runId: string, position: number, fate: Fate): Effect.Effect<Fate, RunStoreError> =>
  Effect.flatMap(
    store.signal(runId, fateName(position), fate),
    (isFirst) => isFirst ? Effect.succeed(fate) : Effect.map(fateAt(store, runId, position), (known) => known ?? fate)
  )

/**
 * The inbox that an execution reads. A store that does not answer is read again before the next turn, but a decision is
 * repeated until it answers: the sender may have read that its message has joined. A cancelled run joins no further
 * messages.
 */
export const readerOf = (
  store: Store,
  { epoch, runId }: StoredRun,
  clock: Clock.Clock,
  execution: Pick<Execution, "isCancelled">
): RunInbox => {
  const now = () => monotonicMillis(clock)
  // A run that has just been started has no messages yet.
  let readAt = epoch === 1 ? now() : -Infinity
  const join = (position: number): Effect.Effect<Fate | undefined, RunStoreError> =>
    Effect.suspend(() =>
      execution.isCancelled
        ? fateAt(store, runId, position)
        : Effect.retry(decide(store, runId, position, "joined"), storeRetry)
    )
  const takeAll = Effect.fnUntraced(function*(after: number, taken: Array<Message>) {
    for (let position = after + 1;; position++) {
      const message = yield* messageAt(store, runId, position)
      if (message === undefined) return
      if ((yield* join(position)) === "joined") taken.push(message)
    }
  })
  return {
    runId,
    take: (after) =>
      Effect.suspend(() => {
        if (now() - readAt < readEvery) return Effect.succeed([])
        readAt = now()
        const taken: Array<Message> = []
        const unread = (error: RunStoreError) => Effect.logWarning(`The inbox of run ${runId} could not be read`, error)
        return Effect.as(Effect.catch(takeAll(after, taken), unread), taken)
      })
  }
}

/** Returns true if a message of an id has joined the run. */
const hasJoined = Effect.fnUntraced(function*(store: Store, runId: string, id: string) {
  for (let position = 1;; position++) {
    const message = yield* messageAt(store, runId, position)
    if (message === undefined) return false
    if (message.id === id && (yield* fateAt(store, runId, position)) === "joined") return true
  }
})

/** Adds a message to the inbox, once. Returns its position; the withdrawn message of an id may be added again. */
const post = Effect.fnUntraced(function*(store: Store, runId: string, { content, id }: UserMessage) {
  for (let position = 1;; position++) {
    if (yield* store.signal(runId, messageName(position), { id, position, content: content as Schema.Json })) {
      return position
    }
    const known = yield* messageAt(store, runId, position)
    if (known?.id === id && (yield* fateAt(store, runId, position)) !== "withdrawn") return position
  }
})

/** True if a message can still join the run. */
const isActive = ({ status }: StoredRun): boolean => status === "running" || status === "queued"

/** Sends a message to a run. Returns true if it has joined the run; an interruption withdraws it. */
export const send = (
  store: Store,
  changes: Changes,
  poll: Duration.Duration,
  run: StoredRun,
  message: UserMessage
): Effect.Effect<boolean, RunStoreError> => {
  const { runId } = run
  if (!isActive(run)) return hasJoined(store, runId, message.id)
  return Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(post(store, runId, message), (position) => {
      const withdraw = decide(store, runId, position, "withdrawn")
      const decided: Effect.Effect<Fate, RunStoreError> = Effect.scoped(Effect.gen(function*() {
        const change = yield* changes.subscribe(runId)
        while (true) {
          const fate = yield* fateAt(store, runId, position)
          if (fate !== undefined) return fate
          const run = yield* store.get(runId)
          if (run === undefined || !isActive(run)) return yield* withdraw
          yield* change.next(poll)
        }
      }))
      return Effect.map(
        Effect.onInterrupt(restore(decided), () => Effect.ignore(withdraw)),
        (fate) => fate === "joined"
      )
    })
  )
}
