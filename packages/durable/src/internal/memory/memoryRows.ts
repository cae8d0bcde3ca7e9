/** Rows of durable runs in memory, shared by a host and a log. The clock is the monotonic one, in milliseconds since the epoch. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { monotonicMillis } from "@recourse/core/Runs"
import { cancelledStep, needsRunner } from "../store/unemittedEnds.ts"
import { type TransitionName, transitions } from "../../HostStates.ts"
import { columnsOf, isAllowed, type StateColumns, stateOf } from "../store/states.ts"
import { MemoryMessages } from "./memoryMessages.ts"
import { type Appended, denied, type Lease, type Step, type StoredRun } from "../store/store.ts"

/** A run with its related rows. */
export interface Row {
  run: StoredRun
  lent: StateColumns["lent"]
  leasedUntil: number
  renewedAt: number
  readUntil: number
  wakeAt: number
  readonly steps: Array<Step>
  readonly signals: Map<string, Schema.Json>
  readonly decisions: Array<{ segment: number; readonly callId: string; readonly decision: Schema.Json; used: boolean }>
}

/** Returns a value's JSON copy: a store shares no object with a run. */
export const copy = <A>(value: A): A => value === undefined ? value : JSON.parse(JSON.stringify(value)) as A

/** The state of a row. */
export const stateOfRow = ({ lent, run: { status } }: Row) => stateOf({ lent, status })

/** Position and number of the first event of the next step. */
export const endOf = ({ steps }: Row) => {
  const last = steps.at(-1)
  return { positions: steps.length, events: last === undefined ? 0 : last.firstEvent + last.events.length }
}

/** All rows. */
export class MemoryRows {
  readonly all = new Map<string, Row>()
  readonly messages = new MemoryMessages()
  /** Time at which the monotonic clock began. */
  private clockStart: number | undefined
  /** Uses the time, in milliseconds since the epoch: a wall clock that is set later changes no duration. */
  readonly at = <A>(use: (now: number) => A): Effect.Effect<A> =>
    Effect.clockWith((clock) =>
      Effect.sync(() => {
        const monotonic = monotonicMillis(clock)
        this.clockStart ??= clock.currentTimeMillisUnsafe() - monotonic
        return use(Math.floor(this.clockStart + monotonic))
      })
    )
  readonly stepsOf = (runId: string): ReadonlyArray<Step> => this.all.get(runId)?.steps ?? []

  /** The row of the run itself, and not of one with its id after a purge. */
  of({ runId, startedAt }: Pick<Lease, "runId" | "startedAt">): Row | undefined {
    const row = this.all.get(runId)
    return row !== undefined && (startedAt ?? row.run.startedAt) === row.run.startedAt ? row : undefined
  }

  /** The row of a run that an epoch owns, if the transition starts in its state. */
  from(name: TransitionName, hold: Lease): Row | undefined {
    const row = this.of(hold)
    return row?.run.epoch === hold.epoch && isAllowed(name, stateOfRow(row)) ? row : undefined
  }

  /** Makes a transition. */
  move(row: Row, name: TransitionName, now: number, fields: Partial<StoredRun> = {}): void {
    const { lent, status } = columnsOf(transitions[name].to)
    row.lent = lent
    this.change(row, now, { ...fields, status })
  }

  change(row: Row, now: number, fields: Partial<StoredRun>): void {
    row.run = { ...row.run, ...fields, updatedAt: now }
  }

  append(row: Row, { isFollowed: _isFollowed, startedAt: _startedAt, startsWrite, ...step }: Step): Appended {
    const there = row.steps[step.position]
    if (there !== undefined) {
      if (there.epoch !== step.epoch || there.key !== step.key) return "lost"
      return there.kind === denied ? "denied" : "added"
    }
    if (row.steps.length !== step.position) return "lost"
    const isDenied = startsWrite === true && row.run.isCancelled
    row.steps.push(copy(isDenied ? { ...step, kind: denied } : step))
    return isDenied ? "denied" : "added"
  }

  /** Ends a run that is to be cancelled and that no process owns, or queues it if it may have to be compensated. */
  cancelUnowned(row: Row, now: number): void {
    const hasSteps = row.steps.some(({ kind, segment }) => segment === row.run.segment && kind !== "told")
    if (needsRunner(row.run, hasSteps)) {
      row.leasedUntil = 0
      return this.move(row, "compensate", now, { askedOf: undefined })
    }
    const { events, positions } = endOf(row)
    const conversation = this.messages.conversationOf(row.run.runId, this.stepsOf)
    row.steps.push(cancelledStep(row.run, conversation, { at: now, position: positions, firstEvent: events }))
    this.move(row, "cancel", now, { pending: [], askedOf: undefined })
  }
}
