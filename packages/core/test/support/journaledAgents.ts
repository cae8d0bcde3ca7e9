/** Inner agents of a journaled run, running or waiting. */

import { Effect, Schema } from "effect"
import { Journal } from "@recourse/core"
import { book, boss, call, type Log, pay, Slow, type Waits } from "./bookings.ts"
import { journalOf } from "./interruptedRuns.ts"

/** Books, and then takes an hour. */
export const works = (log: Log, compensation: object | undefined, more: object = {}) =>
  boss([book(log), pay(log), Slow], {
    instructions: "a",
    input: Schema.Unknown,
    compensation,
    ...more
  }) as unknown as Waits

export const atWork = [call("book", {}, { id: "b" }), call("slow", {}, { id: "s" })] as const

export const journaled = (effect: Effect.Effect<unknown, unknown, never>, isCancelled?: () => boolean) =>
  Effect.provideService(effect, Journal.CurrentJournal, {
    ...journalOf().life().journal,
    ...(isCancelled === undefined ? undefined : { isCancelled })
  })

export const named = { runId: "run_1" } as const
