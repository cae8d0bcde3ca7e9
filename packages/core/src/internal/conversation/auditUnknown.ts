/** Audit of calls whose outcome is unknown: their turn did not end, or it ended while a page had them. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { CurrentStoreTimeout } from "../../StoreTimeout.ts"
import type { Snapshot } from "../approval/snapshot.ts"
import { mayHaveStarted } from "../approval/waitsWithin.ts"
import { answerWithin } from "../foundation/effect/answerWithin.ts"
import { randomId } from "../foundation/digest.ts"
import { Actor, Audit, type AuditRecord } from "../run/auditRecord.ts"
import type { OpenCall } from "./pendingCalls.ts"

type UnknownCall = Pick<AuditRecord, "runId" | "path" | "tool" | "callId" | "argumentsHash">

const auditEach = (calls: ReadonlyArray<UnknownCall>): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const write = Context.get(context, Audit)
    if (write === undefined) return Effect.void
    const actor = Context.get(context, Actor)
    const late = Effect.die(new Error("The audit did not answer in time"))
    return Effect.forEach(calls, (call) =>
      Effect.flatMap(
        Effect.all([Clock.currentTimeMillis, randomId]),
        ([at, referenceId]) =>
          answerWithin(
            write({
              referenceId,
              at,
              ...(actor === undefined ? undefined : { actor }),
              ...call,
              decision: "outcome_unknown",
              security: false
            }),
            Context.get(context, CurrentStoreTimeout),
            () => late
          )
      ), { discard: true })
  })

/** Writes an audit record of each write that started in a turn which has not ended, and of which no outcome is known. */
export const auditUnknown = ({ callId, runId, writes }: OpenCall): Effect.Effect<void> =>
  auditEach(
    [...writes.values()].flatMap(({ argumentsHash, outcome, path, tool }) =>
      outcome === undefined ? [{ runId, path, tool, callId, argumentsHash }] : []
    )
  )

/** Writes an audit record of each call of a paused run that its page may have executed. */
export const auditAtPage = ({ agent, round, runId }: Snapshot): Effect.Effect<void> =>
  auditEach(
    (round?.pending ?? []).filter(mayHaveStarted).map(({ argumentsHash, callId, tool }) => ({
      runId,
      path: [agent],
      tool,
      callId,
      argumentsHash
    }))
  )
