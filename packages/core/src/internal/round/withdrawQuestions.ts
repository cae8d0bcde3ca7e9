/** Withdraws approval requests that nobody can answer any more, and tells listeners. */
import * as Effect from "effect/Effect"
import type { Checkpoint, NestedRun, PendingCall, Snapshot, WaitingWithin } from "../approval/snapshot.ts"
import * as Failures from "../projection/failures.ts"
import { announce } from "../result/announce.ts"
import { failed } from "./context.ts"
import type { Presentation } from "../result/delivery.ts"
import { idWithin } from "../run/callIds.ts"
import type { Run } from "../run/run.ts"

/** The calls of a round that wait are off, and what waits within them. */
const withdrawQuestions = (
  run: Run,
  shown: Pick<Presentation, "user">,
  round: Checkpoint["round"]
): Effect.Effect<void> => {
  const { calls = [], nested = [], pending = [], within = [] } = round ?? {}
  const waiting = new Set([...pending, ...nested, ...within].map(({ callId }) => callId))
  return Effect.andThen(
    Effect.andThen(
      Effect.forEach(nested, (one) => withdrawQuestionsWithin(run, shown, one), { discard: true }),
      withdrawQuestionsOfTools(run, shown, within, pending)
    ),
    Effect.forEach(
      calls.filter(({ id }) => waiting.has(id)),
      (call) => announce(run, failed(call, Failures.waiting(run.id, shown.user))),
      { discard: true }
    )
  )
}

/** The calls that tools make and that wait are off. */
export const withdrawQuestionsOfTools = (
  run: Run,
  shown: Pick<Presentation, "user">,
  within: ReadonlyArray<WaitingWithin>,
  pending: ReadonlyArray<PendingCall>
): Effect.Effect<void> =>
  within.length === 0 ? Effect.void : Effect.forEach(
    pending.filter(({ callId }) => within.some((one) => callId.startsWith(idWithin(one.callId, "")))),
    ({ arguments: params, callId: id, tool: name }) =>
      announce(run, failed({ id, name, params }, Failures.waiting(run.id, shown.user))),
    { discard: true }
  )

/** What waits within a call is off. */
export const withdrawQuestionsWithin = (
  run: Run,
  shown: Pick<Presentation, "user">,
  { callId, snapshot }: Pick<NestedRun, "callId" | "snapshot">
): Effect.Effect<void> => {
  const { agent, round } = snapshot as unknown as Snapshot
  const nested: Run = {
    ...run,
    path: [...run.path, agent],
    agentRunId: `${run.agentRunId}/${callId}`,
    withinCall: { id: callId, record: {} },
    parent: run
  }
  return withdrawQuestions(nested, shown, round)
}
