/** Bookings at a desk, their compensations, and the records of a run that fails. */

import { Data, Effect, Schema } from "effect"
import type { Journal } from "@recourse/core"
import { type AgentEvent, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Down } from "./kit.ts"
import { entriesIn } from "./interruptedRuns.ts"

export class Refused extends Data.TaggedError("Refused")<{ readonly id: number }> {}

export const Params = Schema.Struct({ n: Schema.Int })

export const Booking = Schema.Struct({ id: Schema.Int, at: Schema.Date })

/** Completed and compensated calls, with their keys. */
export class Desk {
  readonly log: Array<string> = []
  readonly keys: Array<string | undefined> = []

  /** A tool that books, and cancels its bookings. */
  tool<const Name extends string>(name: Name, more: Record<string, unknown> = {}) {
    return Tool.make(name, {
      parameters: Params,
      success: Booking,
      effects: "write",
      execute: ({ n }): Effect.Effect<typeof Booking.Type, Down> =>
        Effect.sync(() => {
          this.log.push(`${name} ${n}`)
          return { id: 100 + n, at: new Date(n) }
        }),
      compensate: ({ n }, { at, id }) =>
        Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) =>
          Effect.sync(() => {
            this.keys.push(idempotencyKey)
            this.log.push(`undo ${name} ${n} ${id} ${at.getTime()}`)
          })),
      ...more
    })
  }
}

export const Fail = Tool.make("fail", { effects: "read", execute: () => Effect.fail(new Down()) })

export const book = (name: string, n: number) => ({ name, params: { n }, id: `${name}_${n}` })

export const failing = (...calls: ReadonlyArray<ReturnType<typeof book>>) => [
  ...calls.map((call) => ScriptedModel.calls([call])),
  ScriptedModel.calls([{ name: "fail", params: {}, id: "f" }])
]

export const told = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) =>
    event._tag === "ToolCompensated"
      ? [[event.callId, event.outcome, event.because].filter((s) => s !== undefined).join(" ")]
      : []
  )

/** A journal in memory: `earlier` has the entries of other executions, `now` those of this one. */
export const journalOf = (
  earlier: ReadonlyMap<string, Schema.Json>,
  now: Map<string, Schema.Json>,
  isCancelled: () => boolean = () => false,
  lostAt?: string
): Journal.Journal => ({
  runId: "r",
  isResumed: earlier.size > 0,
  isCancelled,
  elapsedBefore: 0,
  find: (kind, key) => earlier.get(`${kind} ${key}`),
  entries: entriesIn(earlier),
  record: (kind, key, value) =>
    Effect.suspend(() => {
      if (lostAt !== undefined && `${kind} ${key}`.startsWith(lostAt)) return Effect.interrupt
      now.set(`${kind} ${key}`, JSON.parse(JSON.stringify(value)))
      return Effect.void
    }),
  claim: (entry) => `r${entry}`
})
