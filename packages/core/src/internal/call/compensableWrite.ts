/** Compensable writes: adds an execution to the log of writes, for the runs that may have to compensate it. */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { PartialSuccess, Pending } from "../../ToolError.ts"
import type { Intent } from "../idempotency/ledgerStore.ts"
import type { CompensableWrite } from "../run/writes/completedWrites.ts"
import type { Run } from "../run/run.ts"
import { noteReported } from "../run/state/runState.ts"
import * as Arguments from "./arguments/toolArguments.ts"
import * as Path from "../path/path.ts"
import type { Call } from "./call.ts"
import { type CallRecord, rootOf } from "./record/record.ts"
import type { ToolInfo } from "./tool/toolInfo.ts"

/**
 * Returns the id of a write: the same in each execution of a run. A call that is repeated under its key is one write.
 * Without a key each call is one: parallel attempts make calls of the same identity.
 */
const idOf = ({ call: { id, identity = id, record }, info, isKeyed }: Executed, { scope }: Run): string =>
  Path.ofWrite(Path.ofCall(scope, info.name, identity), isKeyed ? undefined : record.callId)

const knownOf = (
  exit: Exit.Exit<unknown, unknown>,
  { outcome: { happened } }: CallRecord
): CompensableWrite["known"] | undefined => {
  if (Exit.isSuccess(exit)) return "done"
  if (happened === "no") return undefined
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  return error instanceof Pending ? "pending" : error instanceof PartialSuccess ? "partial" : "unknown"
}

/** Recorded facts of an execution. */
export interface Executed {
  readonly info: ToolInfo
  readonly call: Call
  readonly run: Run | undefined
  /** True if it ran under an idempotency key. */
  readonly isKeyed: boolean
  /** The decoded arguments and the services of the execution; `undefined` if it ran in another execution of the run. */
  readonly live: { readonly params: unknown; readonly context: Context.Context<never> } | undefined
  /** Its place among the executions; left out: it begins now. */
  readonly position?: number | undefined
  /** The result as JSON, if it has been written so. */
  readonly encoded: Schema.Json | undefined
  /** Its identification in the ledger; default: the fields of the call. */
  readonly intent?: Intent | undefined
}

/** An execution as a write. */
const writeOf = (executed: Executed, run: Run, known: CompensableWrite["known"]): CompensableWrite => {
  const { call, encoded, info } = executed
  const id = idOf(executed, run)
  // The attempt of raced ones that ends last has no claim any more.
  const intent = executed.intent ?? call.record.claiming.claim?.intent ?? run.writes.completed?.get(id)?.write.intent
  return {
    id,
    tool: info.name,
    scope: run.scope,
    identity: call.identity ?? call.id,
    callId: call.record.callId,
    root: rootOf(call.record).callId,
    path: run.path,
    ...(run.reading.skill === undefined ? undefined : { skill: run.reading.skill }),
    known,
    arguments: Result.getOrElse(Arguments.read(call.arguments), () => ({})) as Schema.Json,
    ...(known !== "done" || encoded === undefined ? undefined : { result: encoded }),
    ...(intent === undefined ? undefined : { intent })
  }
}

/** Whether the event of a call's result reports its write. */
const isReported = ({ effects, isAgent }: ToolInfo, run: Run | undefined): run is Run =>
  run?.audience?.details === true && effects !== "read" && isAgent !== true

/** Notes the write of a call for the event of its result. An unknown write can be compensated only if the ledger knows its key. */
const report = (executed: Executed, run: Run, known: CompensableWrite["known"] | undefined): void => {
  const { call: { record }, info: { compensation }, live } = executed
  if (known === undefined) return noteReported(run, record.callId, undefined)
  if (live === undefined && run.writes.reported.get(record.callId)?.known === "done") return
  const write = compensation === undefined ? undefined : writeOf(executed, run, known)
  const isCompensable = known === "done" ||
    (known === "unknown" && compensation?.canReconcile === true && write?.intent)
  const hasCompensation = compensation !== undefined
  noteReported(run, record.callId, { known, hasCompensation, ...(isCompensable ? { compensable: write } : undefined) })
}

/** Adds an execution to the log of writes, or takes it out if it has not happened; and notes it for the event of its result. */
export const noteCompensable = (executed: Executed, exit: Exit.Exit<unknown, unknown>): void => {
  const { call, info, live, position, run } = executed
  if (isReported(info, run)) report(executed, run, knownOf(exit, call.record))
  const completed = run?.writes.completed
  if (info.compensation === undefined || run === undefined || completed === undefined) return
  const known = knownOf(exit, call.record)
  if (known === undefined) return completed.remove(idOf(executed, run))
  const write = writeOf(executed, run, known)
  // This process knows its own completed writes better than the stored entries do.
  if (live === undefined && completed.get(write.id)?.write.known === "done") return
  completed.add(
    run,
    write,
    live && { ...live, info, outcome: call.record.outcome, value: Exit.isSuccess(exit) ? exit.value : undefined },
    position
  )
}

/** True if an earlier execution of the run has started it under a claim of its key. */
export const hasStarted = (executed: Executed, claim: string): boolean => {
  const { run } = executed
  return run?.log?.compensations.hasClaim(idOf(executed, run), claim) === true
}

/** True if the log of writes has another call under an entry of the ledger: one entry is one write. */
export const isNotedByAnother = (executed: Executed, entry: string): boolean => {
  const { run } = executed
  const noted = run?.writes.completed?.ofEntry(entry)
  return noted !== undefined && noted.id !== idOf(executed, run!)
}

/** Returns the entry before an execution, if a run may have to compensate it; otherwise `undefined`. */
export const writeOfStart = (executed: Executed): CompensableWrite | undefined => {
  const { info, run } = executed
  return info.compensation === undefined || run?.writes.completed === undefined
    ? undefined
    : writeOf(executed, run, "unknown")
}

/** Returns the result of a tool with compensable writes as JSON; `undefined` if JSON cannot represent it. */
export const encodedResult = (success: Schema.Top, value: unknown): Effect.Effect<Schema.Json | undefined> =>
  Effect.map(
    Effect.option(Schema.encodeUnknownEffect(Schema.toCodecJson(success))(value)) as Effect.Effect<
      Option.Option<unknown>
    >,
    Option.match({ onNone: () => undefined, onSome: (json) => (json ?? null) as Schema.Json })
  )
