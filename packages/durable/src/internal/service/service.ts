/** `Runs` over a store: from any process that has the store, whether it runs agents or not. */
import * as Effect from "effect/Effect"
import { check } from "@recourse/core/RunInbox"
import { checkQuery, type RunsService } from "@recourse/core/Runs"
import { cancelRun } from "../run/cancelRuns.ts"
import * as Inbox from "../run/inbox.ts"
import { decideRun } from "./decideRun.ts"
import type { Here } from "./here.ts"
import { readEvents } from "./readEvents.ts"
import { startRun } from "./startRun.ts"
import { available, storedRuns } from "./storedRuns.ts"
import { Parent, Slot } from "../queue/slot.ts"
import type { Store, StoredRun } from "../store/store.ts"
import { ended } from "../store/unemittedEnds.ts"
import { Waiting } from "./waiting.ts"

/** Makes the service. */
export const make = (store: Store, here: Here): RunsService => {
  const { changes, poll } = here
  const reads = storedRuns(store)
  const { described, describedOne, get } = reads
  const waiting = new Waiting(store, changes, poll)
  /** An ended run, for whoever waits for it. A run that was cancelled with the one it waits for stops in place of reading that. */
  const endOf = Effect.fnUntraced(function*(run: StoredRun) {
    const parent = run.status === "cancelled" ? yield* Parent : undefined
    if (parent !== undefined && (yield* available(store.get(parent.runId)))?.isCancelled === true) yield* parent.stop
    return yield* describedOne(run)
  })
  const cancelled = (runId: string) => available(cancelRun(store, runId))
  return {
    start: startRun(store, here, cancelled),
    get: (runId) => Effect.flatMap(get(runId), describedOne),
    wait: (runId) =>
      Effect.scoped(Effect.gen(function*() {
        const end = yield* waiting.watch(runId)
        const run = yield* get(runId)
        if (ended.has(run.status)) return yield* endOf(run)
        yield* (yield* Slot).lent(end)
        return yield* endOf(yield* get(runId))
      })),
    events: readEvents(store, reads, here),
    decide: decideRun(store, reads, here),
    addMessage: (runId, message) =>
      Effect.flatMap(
        get(runId),
        (run) =>
          Effect.andThen(check(run.agent, message), () => available(Inbox.send(store, changes, poll, run, message)))
      ),
    cancel: (runId) => Effect.andThen(get(runId), cancelled(runId)),
    list: (query = {}) =>
      Effect.andThen(
        checkQuery(query),
        Effect.suspend(() => Effect.flatMap(available(store.list(query)), described))
      )
  }
}
