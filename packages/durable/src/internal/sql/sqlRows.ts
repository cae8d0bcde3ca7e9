/** Rows of the tables of durable runs, converted to runs and steps. */
import type * as Schema from "effect/Schema"
import type { Status } from "@recourse/core/Runs"
import type { MessagePart, Step, StoredRun } from "../store/store.ts"

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

const json = (text: string): Schema.Json => JSON.parse(text) as Schema.Json
const optional = (text: string | null): Schema.Json | undefined => text === null ? undefined : json(text)

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
  input: json(row.input),
  pending: json(row.pending),
  snapshot: optional(row.snapshot),
  outcome: optional(row.outcome)
})

export const stepOf = (row: StepRow): Step => ({
  runId: row.run_id,
  position: row.position,
  epoch: row.epoch,
  segment: row[segmentColumn],
  kind: row.kind,
  key: row.key,
  value: json(row.value),
  elapsed: Number(row.elapsed),
  firstEvent: row.first_event,
  events: json(row.events) as ReadonlyArray<Schema.Json>
})

export const partOf = (row: MessageRow): MessagePart => ({
  runId: row.run_id,
  part: row.part,
  id: row.id,
  parent: row.parent ?? undefined,
  size: row.size,
  messages: json(row.messages) as ReadonlyArray<Schema.Json>
})

export const messageRowOf = (part: MessagePart): Record<keyof MessageRow, string | number | null> => ({
  run_id: part.runId,
  part: part.part,
  id: part.id,
  parent: part.parent ?? null,
  size: part.size,
  messages: JSON.stringify(part.messages)
})
