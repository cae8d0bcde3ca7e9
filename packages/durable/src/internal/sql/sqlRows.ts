/** Rows of the tables of durable runs, converted to runs and steps. */
import type * as Schema from "effect/Schema"
import type { Status } from "@recourse/core/Runs"
import { textKey } from "../store/references.ts"
import type { MessagePart, Step, StoredRun } from "../store/store.ts"
import { runUnreadable } from "../store/unreadable.ts"

/** Column of the segment, in the tables of runs, steps and decisions. Its name is stored. */
export const segmentColumn = "leg"

export interface RunRow {
  readonly run_id: string
  readonly agent: string
  readonly version: string
  readonly owner: string | null
  readonly parent_id: string | null
  readonly trace: string | null
  readonly status: string
  readonly epoch: number
  readonly [segmentColumn]: number
  readonly is_cancelled: number
  readonly ran: number | string
  readonly asked: number
  readonly asked_of: string | null
  readonly started_at: number | string
  readonly updated_at: number | string
  readonly input: string
  readonly pending: string
  readonly snapshot: string | null
  readonly outcome: string | null
}

export interface StepRow {
  readonly run_id: string
  readonly position: number
  readonly epoch: number
  readonly [segmentColumn]: number
  readonly kind: string
  readonly key: string
  readonly value: string
  readonly elapsed: number | string
  readonly first_event: number
  readonly event_count: number
  readonly events: string
}

export interface MessageRow {
  readonly run_id: string
  readonly part: number
  readonly id: string
  readonly parent: string | null
  readonly size: number
  readonly messages: string
}

/** The JSON of a column; `instead` if it cannot be read, or is not of its kind. */
const json = <A extends Schema.Json | undefined>(
  text: string | null,
  instead: A,
  isIt: (json: unknown) => boolean = () => true
): { readonly json: Schema.Json | A; readonly isRead: boolean } => {
  if (text === null) return { json: instead, isRead: true }
  try {
    const json = JSON.parse(text) as Schema.Json
    return isIt(json) ? { json, isRead: true } : { json: instead, isRead: false }
  } catch {
    return { json: instead, isRead: false }
  }
}

const isObject = (json: unknown): boolean => typeof json === "object" && json !== null

/** A JSON column of a decision; `undefined` if it cannot be read. */
export const decisionOf = (text: string): Schema.Json | undefined => json(text, undefined, isObject).json

const columnsOf = (row: RunRow) => {
  const columns = {
    input: json(row.input, null),
    pending: json(row.pending, [], Array.isArray),
    snapshot: json(row.snapshot, undefined),
    outcome: json(row.outcome, { failure: { ...runUnreadable } }, isObject)
  }
  const unreadable = Object.entries(columns).flatMap(([name, { isRead }]) => isRead ? [] : [name])
  return {
    input: columns.input.json,
    pending: columns.pending.json,
    snapshot: columns.snapshot.json,
    outcome: row.outcome === null ? undefined : columns.outcome.json,
    ...(unreadable.length === 0 ? undefined : { unreadable })
  }
}

export const runOf = (row: RunRow): StoredRun => ({
  runId: row.run_id,
  agent: row.agent,
  version: row.version,
  owner: row.owner ?? undefined,
  parent: row.parent_id ?? undefined,
  trace: row.trace ?? undefined,
  asked: row.asked,
  askedOf: row.asked_of ?? undefined,
  status: row.status as Status,
  epoch: row.epoch,
  segment: row[segmentColumn],
  isCancelled: row.is_cancelled !== 0,
  ran: Number(row.ran),
  startedAt: Number(row.started_at),
  updatedAt: Number(row.updated_at),
  ...columnsOf(row)
})

const isEvents = (count: number) => (json: unknown): boolean => Array.isArray(json) && json.length === count

export const stepOf = (row: StepRow): Step => {
  const value = json(row.value, null)
  const events = json(row.events, [], isEvents(row.event_count))
  return {
    runId: row.run_id,
    position: row.position,
    epoch: row.epoch,
    segment: row[segmentColumn],
    kind: row.kind,
    key: row.key,
    value: value.json,
    elapsed: Number(row.elapsed),
    firstEvent: row.first_event,
    events: events.json as ReadonlyArray<Schema.Json>,
    ...(value.isRead && events.isRead ? undefined : { isUnreadable: true })
  }
}

export const partOf = (row: MessageRow): MessagePart => ({
  runId: row.run_id,
  part: row.part,
  id: row.id,
  parent: row.parent ?? undefined,
  size: row.size,
  // A reader of the conversation finds that a message is not there.
  messages: json(row.messages, [{ [textKey]: [-1, 0] }], Array.isArray).json as ReadonlyArray<Schema.Json>
})

export const messageRowOf = (part: MessagePart): Record<keyof MessageRow, string | number | null> => ({
  run_id: part.runId,
  part: part.part,
  id: part.id,
  parent: part.parent ?? null,
  size: part.size,
  messages: JSON.stringify(part.messages)
})
