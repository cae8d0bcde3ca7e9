/** Host in SQL: processes that share PostgreSQL or SQLite own runs by leases. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { sqlMessages } from "../sqlMessages.ts"
import type { Parts } from "../sqlParts.ts"
import type { sqlSteps } from "../sqlSteps.ts"
import type * as Schema from "effect/Schema"
import type { Host, RunHistory, Step, WakeUp } from "../../store/store.ts"
import { sqlCancel } from "./sqlCancel.ts"
import { sqlDecide } from "./sqlDecide.ts"
import { sqlInsert } from "./sqlInsert.ts"
import { sqlSettle } from "./sqlSettle.ts"
import { sqlTake } from "./sqlTake.ts"

const queued: WakeUp = { _tag: "Queued" }

/** The steps and decisions of an execution that cannot be read. */
const unreadableOf = (
  steps: ReadonlyArray<Step>,
  decisions: ReadonlyArray<Schema.Json | undefined>
): Pick<RunHistory, "unreadable"> | undefined => {
  const unreadable = [
    ...steps.flatMap(({ isUnreadable, position }) => isUnreadable === true ? [`step ${position}`] : []),
    ...(decisions.includes(undefined) ? ["decisions"] : [])
  ]
  return unreadable.length === 0 ? undefined : { unreadable }
}

/** Inserts a run that its caller executes. If the caller is interrupted meanwhile, the run is queued for any process. */
const orQueued = (inserting: ReturnType<Host["insert"]>, settle: Host["settle"]): ReturnType<Host["insert"]> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDetach(inserting), (fiber) => {
      const release = Effect.flatMap(Fiber.join(fiber), ({ isNew, run }) =>
        isNew ? settle(run, { status: "queued" }) : Effect.succeed(false))
      return Effect.onInterrupt(restore(Fiber.join(fiber)), () =>
        Effect.forkDetach(Effect.ignore(release)))
    })
  )

/** Makes a host. */
export const sqlHost = (
  parts: Parts,
  ofSteps: ReturnType<typeof sqlSteps>,
  ofMessages: ReturnType<typeof sqlMessages>
): Host => {
  const { failing, sql, wakeUps } = parts
  const { decide, fixed } = sqlDecide(parts)
  const cancellation = sqlCancel(parts, ofSteps, ofMessages.operations)
  const inserted = sqlInsert(parts, ofMessages)
  const settled = sqlSettle(parts, ofSteps, ofMessages, cancellation)
  const settle: Host["settle"] = (hold, leaving) =>
    Effect.flatMap(settled(hold, leaving), (left) => {
      if (left === "lost") return Effect.succeed(false)
      const changed = leaving.status === "asked" || leaving.status === "lent"
        ? []
        : [{ _tag: "Changed", runId: hold.runId } as const]
      const takable = left === "left" ? [] : left === "queued" ? [queued] : [{ ...queued, released: left }]
      return Effect.as(wakeUps.notifySoon([...changed, ...takable]), true)
    })
  return {
    insert: Effect.fnUntraced(function*(run) {
      // Within a transaction of the caller's no process sees it, and none is notified, before that is committed.
      const isWithin = Option.isSome(yield* Effect.serviceOption(sql.transactionService))
      const added = run.leaseMillis === undefined || isWithin
        ? yield* inserted({ ...run, leaseMillis: undefined })
        : yield* orQueued(inserted(run), settle)
      if (added.isNew && added.run.status === "queued" && run.delayMillis === undefined) {
        yield* isWithin ? wakeUps.notify([queued]) : wakeUps.notifySoon([queued])
      }
      return added
    }),
    take: sqlTake(parts),
    load: ({ epoch, segment, runId, startedAt }) =>
      failing(
        "load",
        Effect.gen(function*() {
          const loaded = yield* ofSteps.load(runId, segment)
          // The first execution of a run resumes no snapshot.
          const decisions = epoch === undefined || segment === 0
            ? []
            : yield* fixed({ epoch, runId, startedAt }, segment)
          return {
            ...loaded,
            decisions: decisions.filter((one) => one !== undefined),
            ...unreadableOf(loaded.steps, decisions)
          }
        })
      ),
    append: (steps) =>
      Effect.tap(ofSteps.append(steps), () => {
        const followed = new Set(steps.flatMap(({ isFollowed, runId }) => isFollowed === true ? [runId] : []))
        return wakeUps.notifySoon([...followed].map((runId) => ({ _tag: "Recorded", runId })))
      }),
    settle,
    decide: (runId, segment, decisions) =>
      Effect.tap(
        decide(runId, segment, decisions),
        ({ decidedBefore }) =>
          decidedBefore === undefined ? wakeUps.notify([{ _tag: "Changed", runId }, queued]) : Effect.void
      ),
    cancel: (runId) =>
      Effect.tap(
        cancellation.cancel(runId),
        (isCancelled) => isCancelled ? wakeUps.notify([{ _tag: "Cancelled", runId }, queued]) : Effect.void
      ),
    listen: wakeUps.listen
  }
}
