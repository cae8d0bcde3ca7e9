/** End of a turn: appends the new messages, once, and releases the thread if the turn still has it. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import type * as Lease from "../foundation/lease.ts"
import { appendAnyway } from "./forceAppend.ts"
import { auditAtPage } from "./auditUnknown.ts"
import { isTakenOver } from "./stores/claimIds.ts"
import { type ConversationError, type ThreadNotFound, TurnOver } from "./conversationErrors.ts"
import type { OpenCall } from "./pendingCalls.ts"
import type { Conversations, ThreadContent, ThreadKey } from "./conversationService.ts"
import { mend } from "../history/mendHistory.ts"
import type { Entry, Event, Thread } from "./thread.ts"
import { endOfLateWaiting, type EndOptions, eventsOf, turnEnded } from "./turnEvents.ts"
import type { TurnWrites } from "./turnWrites.ts"
import { toPrompt } from "./threadView.ts"

/** Ends a turn. */
export type EndTurn = (options: EndOptions) => Effect.Effect<Thread, ThreadNotFound | ConversationError | TurnOver>

/** State of a started turn for its end. */
interface StartedTurn {
  readonly claim: string
  readonly content: ThreadContent
  readonly lease: Lease.Lease<unknown>
  readonly open: ReadonlyArray<OpenCall>
  readonly prompt: Prompt.Prompt
  readonly writes: TurnWrites
  readonly over: () => void
}

const isWrite = ({ _tag }: Event): boolean => _tag === "WriteStarted" || _tag === "WriteEnded"

/** Returns the thread if another turn has taken it over for this run: that turn stores the end of the run, or has stored it. */
const storedByOther = Effect.fnUntraced(function*(
  store: Conversations["Service"],
  key: ThreadKey,
  runId: string | undefined,
  events: ReadonlyArray<Event>
) {
  if (runId === undefined) return
  const { claim, entries, thread } = yield* store.read(key)
  if (claim !== undefined && (yield* isTakenOver(claim.id, runId))) return thread
  const known = new Set(entries.flatMap(({ event, runId: of }) => of === runId ? [canonicalJson(event)] : []))
  return events.some((event) => event._tag === "MessageAdded" && known.has(canonicalJson(event))) ? thread : undefined
})

/** Ends a turn, once. */
export const endOf = (
  store: Conversations["Service"],
  key: ThreadKey,
  { claim, content, lease, open, over, prompt, writes }: StartedTurn
): EndTurn => {
  let isEnding = false
  /**
   * The turn's first messages, without the writes that an earlier execution of this run has stored: its transcript has
   * them.
   */
  const promptOf = (entries: ReadonlyArray<Entry>, runId: string | undefined): Prompt.Prompt =>
    open.some((call) => call.runId === runId)
      ? mend(toPrompt(entries.filter(({ event, runId: of }) => of !== runId || !isWrite(event)))).prompt
      : prompt
  const stored = (ended: EndOptions) => {
    const { runId, snapshot } = ended
    const runs = new Set(writes.runs)
    if (runId !== undefined && open.some((call) => call.runId === runId)) runs.add(runId)
    const fresh = eventsOf(ended, promptOf(content.entries, runId), content.entries.at(-1)?.position ?? 0)
    const before = turnEnded([...runs])
    const own = store.append({
      ...key,
      events: [...before, ...fresh],
      runId,
      requiredClaim: claim,
      release: claim,
      snapshot: (snapshot as Schema.Json | undefined) ?? null
    })
    return Effect.catchTags(own, {
      VersionConflict: Effect.die,
      // Another turn has claimed the thread since: the run waiting there is that turn's.
      ThreadBusy: () =>
        Effect.flatMap(
          storedByOther(store, key, runId, fresh),
          (thread) =>
            thread !== undefined ? Effect.succeed(thread) : appendAnyway(store, {
              ...key,
              events: [...before, ...snapshot === undefined ? fresh : endOfLateWaiting(fresh, prompt, snapshot)],
              runId
            }).pipe(Effect.tap(() => snapshot === undefined ? Effect.void : auditAtPage(snapshot)))
        )
    })
  }
  return (ended) =>
    Effect.uninterruptible(Effect.suspend((): ReturnType<EndTurn> => {
      if (isEnding) return Effect.fail(new TurnOver({ thread: key.thread }))
      if (ended.outcome === "paused" && ended.snapshot === undefined) {
        return Effect.map(store.read(key), ({ thread }) => thread)
      }
      isEnding = true
      return Effect.andThen(lease.stop, stored(ended)).pipe(
        Effect.tap(() => Effect.sync(over)),
        Effect.onError(() => Effect.sync(() => isEnding = false))
      )
    }))
}
