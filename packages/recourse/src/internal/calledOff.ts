/** Questions that nobody is to answer any more: whoever was shown them learns so. */
import * as Effect from "effect/Effect"
import type { Checkpoint, NestedRun, Snapshot } from "../Approval.ts"
import * as ErrorProjection from "../ErrorProjection.ts"
import { announce } from "./announce.ts"
import { failed } from "./calls.ts"
import type { Showing } from "./delivery.ts"
import type { Run } from "./run.ts"

/** The calls of a round that wait are off, and what waits within them. */
export const calledOff = (
  run: Run,
  { user }: Pick<Showing, "user">,
  { calls, nested = [], pending }: Exclude<Checkpoint["round"], undefined>
): Effect.Effect<void> => {
  const waiting = new Set([...pending, ...nested].map(({ callId }) => callId))
  return Effect.andThen(
    Effect.forEach(nested, (one) => calledOffWithin(run, { user }, one), { discard: true }),
    Effect.forEach(
      calls.filter(({ id }) => waiting.has(id)),
      (call) => announce(run, failed(call, ErrorProjection.waiting(run.id, user))),
      { discard: true }
    )
  )
}

/** What waits within a call is off. */
export const calledOffWithin = (
  run: Run,
  shown: Pick<Showing, "user">,
  { snapshot }: NestedRun
): Effect.Effect<void> => {
  const { agent, round } = snapshot as unknown as Snapshot
  return round === undefined ? Effect.void : calledOff({ ...run, path: [...run.path, agent] }, shown, round)
}
