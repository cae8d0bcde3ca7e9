/** Events of a run, in pages. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as EventJson from "@recourse/core/EventJson"
import {
  monotonicMillis,
  type NumberedEvent,
  type RunsService,
  type RunsUnavailable,
  type UnknownRun
} from "@recourse/core/Runs"
import { eventsOf, type Subscription } from "../run/changes.ts"
import * as Requests from "../store/requests.ts"
import type { Store, StoredRun } from "../store/store.ts"
import { ended } from "../store/unemittedEnds.ts"
import { wholeEvents } from "../store/wholeRuns.ts"
import type { Here } from "./here.ts"
import { available, type StoredRuns } from "./storedRuns.ts"

/** Time for which a run counts as read after its reader's last request. */
const readFor = 10_000

/** Makes the operation `events`. */
export const readEvents = (
  store: Store,
  { get }: StoredRuns,
  { changes, conversations, isOwned, poll }: Here
): RunsService["events"] => {
  const eventsFrom = (run: StoredRun, from: number, readMillis: number | undefined) =>
    Effect.flatMap(
      store.events(run.runId, from, readMillis),
      (found) => found.length === 0 ? Effect.succeed(found) : wholeEvents(store, conversations, run, found)
    )
  /** For how long a run is marked as read now: at most once in half of that time. */
  const markerOf = (): (run: StoredRun) => Effect.Effect<number | undefined> => {
    let markedAt = -Infinity
    return ({ runId, status }) =>
      Effect.clockWith((clock) => {
        const now = monotonicMillis(clock)
        // The owner of the run emits its events early while they are read.
        if (status !== "running" || isOwned(runId) || now - markedAt < readFor / 2) {
          return Effect.undefined
        }
        markedAt = now
        return Effect.succeed(readFor)
      })
  }
  /** A page of events; `undefined` when the run has ended and all were read. */
  const page = Effect.fnUntraced(function*(
    runId: string,
    from: number,
    { change, mark }: { readonly change: Subscription; readonly mark: ReturnType<typeof markerOf> }
  ): Effect.fn.Return<
    readonly [ReadonlyArray<NumberedEvent>, Option.Option<number>],
    UnknownRun | RunsUnavailable
  > {
    const run = yield* get(runId)
    const found = yield* available(eventsFrom(run, from, yield* mark(run)))
    const events = found.flatMap(({ event, number }) =>
      Option.match(EventJson.decode(event), {
        onNone: () => [],
        onSome: (event): ReadonlyArray<NumberedEvent> => [{ number, event: { ...event, sequence: number } }]
      })
    )
    const last = found.at(-1)
    if (last !== undefined) return [events, Option.some(last.number + 1)]
    if (ended.has(run.status)) return [[], Option.none()]
    yield* change.next(poll)
    return [[], Option.some(from)]
  })
  return (runId, from = 0) =>
    Requests.isNumber(from)
      ? Stream.unwrap(Effect.map(
        Effect.andThen(changes.reading(runId), changes.subscribe(eventsOf(runId))),
        (change) => {
          const reader = { change, mark: markerOf() }
          return Stream.paginate(from, (number) => page(runId, number, reader))
        }
      ))
      : Stream.fromEffect(Effect.flatMap(get(runId), ({ agent }) => Requests.noNumber(agent)))
}
