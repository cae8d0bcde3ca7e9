/** Records of calls, with the internal functions that read and write them. */

import { ToolError } from "@recourse/core"
import type { Effect, Exit } from "effect"
import { Duration, Schema } from "effect"
import { openRecord } from "./openRecord.ts"

export type Known = "no" | "unknown" | "yes"

export type Effects = "read" | "write" | "idempotent" | undefined

export type Answer = { readonly value: unknown } | undefined

/** As much of a tool as these rules look at. */
export interface Info {
  readonly name: string
  readonly effects: Effects
  readonly passesKey: boolean
  readonly success: Schema.Top
  readonly isAgent?: boolean
}

/** As much of a call's record as these rules look at. */
export interface Record {
  readonly callId: string
  readonly parent: Record | undefined
  readonly around: Record | undefined
  readonly identity: string | undefined
  tool: Info | undefined
  count: number
  executed: boolean
  happened: Known
  known: Known
  running: number
  runningInPlace: number
  startedAt: number
  within: Set<Record> | undefined
  causes: ReadonlyArray<object>
  lastError: unknown
  answered: Answer
  answeredInPlace: { readonly by: unknown; readonly value: unknown } | undefined
  isFix: boolean
  repetitions:
    | ReadonlyArray<{ readonly failure: string; readonly attempt: number; readonly isFix: boolean }>
    | undefined
  requested: { readonly arguments: unknown } | undefined
  arguments: unknown
  response: unknown
  approved: string | undefined
  fixedBy: string | undefined
  fixedArguments: string | undefined
  approvals: unknown
  read: ReadonlyArray<string> | undefined
  stop: { readonly of?: Record } | undefined
  readonly callsBeforePause:
    | { readonly unmatched: ReadonlySet<string>; readonly has: (identity: string) => boolean }
    | undefined
}

export interface CallBeforePause {
  readonly identity: string
  readonly tool: string
  readonly outcome?: Schema.Json
}

export type Made = { readonly parent?: Record; readonly around?: Record; readonly identity?: string }

export type Exits = Exit.Exit<unknown, unknown>

export const call = new URL("../../src/internal/call/", import.meta.url)

export const load = async (name: string): Promise<never> => await import(new URL(name, call).href) as never

export const newRecord = (id: string, made?: object): Record => openRecord<Record>(id, made)

export const Happened: {
  readonly noteWriteStart: (record: Record, isFirst: boolean, now: () => number) => void
  readonly happenedItself: (record: Record) => Known
  readonly inPlace: <A, E>(record: Record, by: unknown, answer: Effect.Effect<A, E>) => Effect.Effect<A, E>
  readonly overtaken: (record: Record, by: unknown) => Exits | undefined
  readonly afterExecution: (record: Record, exit: Exits, isKeyed: boolean, says: (error: unknown) => boolean) => Known
  readonly happened: (record: Record) => Known
  readonly isDoneWithin: (record: Record) => boolean
} = await load("execute/effects.ts")

export const Outcome: {
  readonly startExecution: (record: Record) => boolean
  readonly endExecution: (record: Record, known: Known) => void
} = await load("record/outcome.ts")

/** Starts an execution of a call. */
export const begin = (record: Record, now: () => number): void => {
  Happened.noteWriteStart(record, Outcome.startExecution(record), now)
}

export const { noteRead }: { readonly noteRead: (record: Record, tools: ReadonlyArray<string>) => void } = await load(
  "children/untrustedContent.ts"
)

export const Writes: {
  readonly writesWithin: (record: Record) => ReadonlyArray<Record>
  readonly mayHaveWritten: (record: Record) => boolean
} = await load("children/writesWithin.ts")

export const infoOf = (effects: Effects, more: Partial<Info> = {}): Info => ({
  name: "t",
  effects,
  passesKey: false,
  success: Schema.String,
  ...more
})

export const recordOf = (
  effects: Effects | "none",
  fields: Partial<Record> = {},
  made: Made = {}
): Record => {
  const record = newRecord("c", made)
  if (effects !== "none") record.tool = infoOf(effects)
  return Object.assign(record, fields)
}

export const fields = { tool: "t", callId: "c", attempt: 1, causes: [] }

export const pending = new ToolError.Pending({ ...fields, taskId: "1" })

export const partly = new ToolError.PartialSuccess({ ...fields, succeeded: [], failed: [] })

export const unknown = new ToolError.OutcomeUnknown({ ...fields, after: Duration.zero })

export const done = { happened: "yes", known: "yes", executed: true } as const

export const tried = { happened: "no", known: "no", executed: true } as const

export const lost = { happened: "unknown", known: "unknown", executed: true } as const
