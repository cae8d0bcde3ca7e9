/** Compensation of a run: of its writes, the newest first, and the report of those that are not compensated. */
import type * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { NotCompensated } from "../../../ToolError.ts"
import { noteCompensated } from "../../call/record/outcome.ts"
import { answerWithin } from "../../foundation/effect/answerWithin.ts"
import { audit } from "../../result/writeAudit.ts"
import { type CompensableWrite, type CompletedWrite, idAround } from "../../run/writes/completedWrites.ts"
import type { CompensationLog } from "../../run/writes/compensationLog.ts"
import { answeredCalls, handOver } from "../../run/writes/ledgerAnswers.ts"
import { emit, type Run } from "../../run/run.ts"
import { inSpan } from "../../run/observe/telemetry.ts"
import type { Compensates } from "./compensationOptions.ts"
import { addCompensation, noteCompensating } from "../../run/state/runState.ts"
import { type ToCompensate, WriteCompensation } from "./compensateWrite.ts"
import { type Fate, markOf, notCompensatedFate, readFate, reportOf } from "./compensationOutcome.ts"
import { effectResult } from "../../foundation/options/hookResult.ts"

const unaudited = (callId: string, tool: string): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logError("A compensation has no audit record"), { call_id: callId, tool })

/** A write that is not compensated. */
interface Remaining {
  readonly id: string
  readonly report: NotCompensated
}

const remainingOf = ({ arguments: args, callId, id, tool }: CompensableWrite, fate: Fate): Remaining | undefined => {
  if (fate.outcome !== "not_undone") return undefined
  const { outcome: _, ...why } = fate
  return { id, report: new NotCompensated({ tool, callId, arguments: args, ...why }) }
}

/** Compensates the writes of one run. */
class Unwinding {
  private readonly run: Run
  private readonly compensates: Compensates
  private readonly ambient: Context.Context<never>
  private readonly writes: WriteCompensation
  private readonly onCompensated: ToCompensate["onCompensated"]
  /** Cause of an audit that could not be written. The other writes are compensated anyway. */
  broken: Cause.Cause<never> | undefined

  constructor(over: ToCompensate) {
    const { ambient, compensates, onCompensated, run } = over
    this.run = run
    this.compensates = compensates
    this.ambient = ambient
    this.writes = new WriteCompensation(over)
    this.onCompensated = onCompensated
  }

  /**
   * Compensates one write, emits it, and removes it. Returns the report of one that stays. A write reported to a live
   * call outside of the run stays without a report.
   */
  compensate(done: CompletedWrite): Effect.Effect<Remaining | undefined> {
    const { run } = this
    const { write } = done
    if (handOver(run, done)) return Effect.undefined
    const log = run.log?.compensations
    const found = log?.outcomeOf(write.id)
    const fate: Effect.Effect<Fate> = found === undefined
      ? log === undefined ? this.inSpan(done) : Effect.tap(
        this.recorded(log, done),
        (fate) => log.end(write.id, reportOf(fate))
      )
      : Effect.succeed(Option.getOrElse(readFate(found), () => notCompensatedFate("unreadable")) as Fate)
    return Effect.flatMap(fate, (fate) => {
      const { callId, tool } = write
      run.writes.completed!.remove(write.id)
      if (fate.outcome === "undone" && done.live !== undefined) noteCompensated(done.live.outcome)
      const report = reportOf(fate)
      let id = callId
      for (let current: Run | undefined = run; current !== undefined; current = current.parent) {
        addCompensation(current, { tool, callId: id, ...report })
        id = idAround(current, id)
      }
      const mark = markOf(fate)
      if (mark !== undefined) {
        for (const root of new Set([write.root, ...answeredCalls(run, write)])) {
          this.onCompensated({ ...write, root }, mark)
        }
      }
      const remaining = remainingOf(write, fate)
      // An entry that an earlier execution has reported is not reported again. The process may have crashed in between.
      const state = log?.stateOf(write.id)
      return state === "audited" || state === "settled"
        ? Effect.succeed(remaining)
        : Effect.as(Effect.andThen(this.emit(write, fate), log?.audited(write.id) ?? Effect.void), remaining)
    })
  }

  /** Compensates a write of a run with a journal: at most once, unless the compensation is repeatable. */
  private recorded(log: CompensationLog, done: CompletedWrite): Effect.Effect<Fate> {
    const { id, tool } = done.write
    if (log.stateOf(id) === "started") {
      const info = this.writes.infoOf(done)
      const isRepeatable = info?.passesKey === true || info?.effects === "idempotent"
      return isRepeatable ? this.inSpan(done) : Effect.succeed(notCompensatedFate("timeout"))
    }
    return Effect.flatMapEager(log.start(id, tool), () => this.inSpan(done))
  }

  private emit({ arguments: args, callId, tool }: CompensableWrite, fate: Fate): Effect.Effect<void> {
    const { run } = this
    const isCompensated = fate.outcome !== "not_undone"
    const audited = audit(run, { id: callId, tool, args }, {
      decision: isCompensated ? "compensated" : "not_compensated",
      ...(isCompensated
        ? undefined
        : { reason: fate.error === undefined ? fate.because : `${fate.because}: ${fate.error}` })
    })
    return Effect.andThen(
      this.broken === undefined ? this.orBroken(audited) : unaudited(callId, tool),
      emit(run, () => ({ _tag: "ToolCompensated", callId, tool, ...reportOf(fate) }))
    )
  }

  /** Writes an audit record. One that cannot be written is the last that is tried: a store that hangs would hold up the others. */
  private orBroken(audited: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.catchCause(audited, (cause) =>
      Effect.sync(() => {
        this.broken = cause
      }))
  }

  private inSpan(done: CompletedWrite): Effect.Effect<Fate> {
    const { callId, tool } = done.write
    return Effect.provideContext(
      inSpan(
        this.run.start.tracing,
        {
          name: `compensate_tool ${tool}`,
          attributes: { "gen_ai.tool.name": tool, "gen_ai.tool.call.id": callId, "gen_ai.tool.type": "function" }
        },
        Effect.contextWith((context: Context.Context<never>) => this.writes.fateOf(done, context)),
        {
          errorType: () => undefined,
          outcomeType: (fate) => fate.outcome === "not_undone" ? fate.because : undefined
        }
      ),
      this.ambient
    )
  }

  /** Reports the remaining writes to a person. */
  report(remaining: ReadonlyArray<Remaining>): Effect.Effect<void> {
    const { run: { log } } = this
    const reported = this.reportToPeople(remaining.map(({ report }) => report))
    if (log === undefined) return reported
    // A process that is killed before this reports again.
    return Effect.andThen(
      reported,
      Effect.forEach(remaining, ({ id }) => log.compensations.reported(id), { discard: true })
    )
  }

  private reportToPeople(remaining: ReadonlyArray<NotCompensated>): Effect.Effect<void> {
    const { ambient, compensates: { report, timeout } } = this
    if (report === undefined || remaining.length === 0) return Effect.void
    const reported = Effect.provideContext(
      Effect.suspend(() => effectResult({ subject: "Agent", name: "compensation.report" }, report(remaining))),
      ambient as Context.Context<unknown>
    )
    return Effect.catchCause(
      Effect.asVoid(answerWithin(reported, timeout, () => Effect.logWarning("compensation.report gave no answer"))),
      (cause) => Effect.logWarning("compensation.report failed", cause)
    )
  }
}

/** The writes of a run that are to be compensated, the newest first. */
export const toCompensate = (run: Run, onlyRevoked: boolean): ReadonlyArray<CompletedWrite> =>
  run.writes.completed!.newestFirst(run).filter(({ write }) => !onlyRevoked || write.revoked === true)

/**
 * Compensates the writes of an ended run, the newest first, and reports the remaining ones. Returns the cause that ends
 * the run as well: an audit that cannot be written.
 */
export const compensateWrites = (
  over: ToCompensate,
  onlyRevoked: boolean
): Effect.Effect<Cause.Cause<never> | undefined> =>
  Effect.suspend(() => {
    const all = toCompensate(over.run, onlyRevoked)
    if (all.length === 0) return Effect.undefined
    noteCompensating(over.run)
    const unwinding = new Unwinding(over)
    return Effect.flatMap(
      Effect.forEach(all, (one) => unwinding.compensate(one)),
      (remaining) => Effect.map(unwinding.report(remaining.filter((one) => one !== undefined)), () => unwinding.broken)
    )
  })
