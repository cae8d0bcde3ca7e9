/** Reads runs and events whole, with the texts and messages that their stored forms name. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { type KnownConversations, noConversation, resolving, snapshotFromStored, textsIn } from "./conversation.ts"
import { namedIn, unpack } from "./references.ts"
import type { RunStoreError, Store, StoredRun } from "./store.ts"
import { eventFromStored } from "./storedEvents.ts"
import { isUnreadable, runUnreadable } from "./unreadable.ts"

type Json = Schema.Json

/** Returns runs with their whole outcomes. */
export const withOutcomes = Effect.fnUntraced(function*(
  store: Store,
  runs: ReadonlyArray<StoredRun>
): Effect.fn.Return<ReadonlyArray<StoredRun>, RunStoreError> {
  const named = runs.flatMap(({ outcome, runId }) =>
    outcome === undefined ? [] : [...namedIn(outcome).positions].map((position) => ({ runId, position }))
  )
  const textOf = textsIn(named.length === 0 ? [] : yield* store.steps(named))
  return yield* Effect.forEach(runs, (run) => {
    const { outcome, runId } = run
    if (outcome === undefined) return Effect.succeed(run)
    const whole = resolving(() => unpack(outcome, { said: () => [], text: (path) => textOf(runId, path) }))
    return Effect.map(
      // One run that cannot be read hides no other.
      Effect.catchIf(whole, isUnreadable, () => Effect.succeed<Json>({ failure: { ...runUnreadable } })),
      (outcome): StoredRun => ({ ...run, outcome })
    )
  })
})

/** Returns a run with its whole snapshot. */
export const withSnapshot = (
  store: Store,
  known: KnownConversations,
  run: StoredRun
): Effect.Effect<StoredRun, RunStoreError> => {
  const { snapshot } = run
  const messages = snapshot === undefined ? 0 : namedIn(snapshot).messages
  return snapshot === undefined || messages === 0
    ? Effect.succeed(run)
    : Effect.map(known.read(store, run.runId, messages), (conversation) => ({
      ...run,
      snapshot: snapshotFromStored(snapshot, conversation)
    }))
}

/** Events as they are stored, with their numbers. */
type Numbered = ReadonlyArray<{ readonly number: number; readonly event: Json }>

/** Returns the complete events of a run in JSON. */
export const wholeEvents = Effect.fnUntraced(function*(
  store: Store,
  known: KnownConversations,
  run: StoredRun,
  events: Numbered
): Effect.fn.Return<Numbered, RunStoreError> {
  const { runId } = run
  const named = namedIn(events.map(({ event }) => event))
  const positions = [...named.positions].map((position) => ({ runId, position }))
  const textOf = textsIn(positions.length === 0 ? [] : yield* store.steps(positions))
  const { messages } = named.messages === 0
    ? noConversation
    : yield* Effect.catchIf(
      known.read(store, runId, named.messages),
      isUnreadable,
      () => Effect.succeed(noConversation)
    )
  const about = {
    said: (from: number, to: number) => messages.slice(from, to),
    text: (path: Parameters<typeof textOf>[1]) => textOf(runId, path)
  }
  return yield* Effect.forEach(events, ({ event, number }) => {
    const whole = eventFromStored(event, run, number)
    // One of an earlier version is whole. One that cannot be read is no event.
    const unpacked = whole === event ? Effect.succeed(event) : resolving(() => unpack(whole, about))
    return Effect.map(
      Effect.catchIf(unpacked, isUnreadable, () => Effect.succeed<Json>(null)),
      (event) => ({ number, event })
    )
  })
})
