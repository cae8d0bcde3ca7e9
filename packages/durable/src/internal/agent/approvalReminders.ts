/** Asking people about calls that wait: one after another, and until the approval expires. */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { type Decision, fail, type PendingCall, reject } from "@recourse/core/Approval"
import type { RunStoreError, Store, StoredRun } from "../store/store.ts"

/**
 * A question to a person about calls that wait.
 *
 * @category models
 * @since 0.2.0
 */
export interface Question {
  readonly runId: string
  readonly agent: string
  /** The people who decide. */
  readonly to: string
  /** Number of people who were asked before. */
  readonly before: number
  /** The calls that wait for a person. */
  readonly pending: ReadonlyArray<PendingCall>
}

/** @internal How people are asked. */
export interface Asking {
  readonly people: ReadonlyArray<{ readonly to: string; readonly afterMillis: number }>
  readonly notify: (question: Question) => Effect.Effect<void, never, unknown>
  readonly rejectsExpired: boolean
}

/** No date is later. */
const never = 8.64e15

const requestedAt = (pending: ReadonlyArray<PendingCall>): number =>
  Math.min(...pending.map(({ requestedAt }) => requestedAt))

const isAtPage = ({ code }: PendingCall): boolean => code === "client_tool"

/** The pending calls that a person decides about. A page answers the others. */
const ofPeople = (pending: ReadonlyArray<PendingCall>): ReadonlyArray<PendingCall> =>
  pending.filter((call) => !isAtPage(call))

/** The time from which a call is expired. A result of a page is in time until the last millisecond. */
const expiredAt = (call: PendingCall): number => call.expiresAt + (isAtPage(call) ? 1 : 0)

/** Returns the milliseconds until the next action about waiting calls; `undefined` if there is none. */
export const dueIn = (
  { people, rejectsExpired }: Asking,
  pending: ReadonlyArray<PendingCall>,
  asked: number,
  now: number
): number | undefined => {
  if (pending.length === 0) return undefined
  const waiting = ofPeople(pending)
  const next = waiting.length === 0 ? undefined : people[asked]
  const times = [
    ...(next === undefined ? [] : [requestedAt(waiting) + next.afterMillis]),
    ...(rejectsExpired ? pending.map(expiredAt).filter((at) => at < never) : [])
  ]
  return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - now)
}

/** The model's text of a call without a decision. */
const tooLate = "No person decided in time."

/** The decision about an expired call. A page may have executed its call, so that is a timeout, and no rejection. */
const expire = (call: PendingCall): Decision => isAtPage(call) ? fail(call, null) : reject(call, tooLate)

/** Executes the due action about a waiting run: rejects expired calls, or asks the next person. */
export const askAbout = (
  store: Store,
  asking: Asking,
  context: Context.Context<never>,
  run: StoredRun
): Effect.Effect<void, RunStoreError> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const pending = run.pending as unknown as ReadonlyArray<PendingCall>
    const expired = asking.rejectsExpired ? pending.filter((call) => expiredAt(call) <= now) : []
    if (expired.length > 0) {
      const decisions = expired.map((call) => ({
        callId: call.callId,
        decision: expire(call) as unknown as Schema.Json
      }))
      return Effect.asVoid(store.decide(run.runId, run.segment, decisions))
    }
    const waiting = ofPeople(pending)
    const next = waiting.length === 0 ? undefined : asking.people[run.asked]
    const isAsked = next !== undefined && requestedAt(waiting) + next.afterMillis <= now
    const { agent, runId } = run
    const notification = isAsked
      ? Effect.provideContext(
        asking.notify({ runId, agent, to: next.to, before: run.asked, pending: waiting }),
        context
      )
      : Effect.void
    const asked = run.asked + (isAsked ? 1 : 0)
    const askedOf = isAsked ? next.to : run.askedOf
    const wakeInMillis = dueIn(asking, pending, asked, now)
    return Effect.andThen(
      notification as Effect.Effect<void>,
      Effect.asVoid(store.settle(run, { status: "asked", asked, askedOf, wakeInMillis }))
    )
  })
