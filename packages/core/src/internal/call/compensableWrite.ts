/** Done calls: notes what an execution has done, for the runs that may have to undo it. */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { PartialSuccess, Pending } from "../../ToolError.ts"
import type { Intent } from "../idempotency/ledgerStore.ts"
import { hasStartedUnder } from "../run/writes/recordedWrites.ts"
import type { DoneWrite } from "../run/writes/completedWrites.ts"
import { addDone, removeDone } from "../run/writes/noteWrite.ts"
import type { Run } from "../run/run.ts"
import * as Arguments from "./arguments/rawArguments.ts"
import * as Path from "../path/path.ts"
import type { Call } from "./call.ts"
import { rootOf } from "./children/outerCalls.ts"
import type { CallRecord } from "./record/record.ts"
import type { ToolInfo } from "./tool/toolInfo.ts"

/**
 * Names a write: the same in each life of a run. A call that is made again under its key is one write. Without a key each call is one:
 * attempts that run side by side make calls of the same identity.
 */
const idOf = ({ call: { id, identity = id, record }, info, isKeyed }: Executed, { scope }: Run): string =>
  Path.ofWrite(Path.ofCall(scope, info.name, identity), isKeyed ? undefined : record.callId)

const knownOf = (
  exit: Exit.Exit<unknown, unknown>,
  { outcome: { happened } }: CallRecord
): DoneWrite["known"] | undefined => {
  if (Exit.isSuccess(exit)) return "done"
  if (happened === "no") return undefined
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  return error instanceof Pending ? "pending" : error instanceof PartialSuccess ? "partial" : "unknown"
}

/** What is noted of an execution. */
export interface Executed {
  readonly info: ToolInfo
  readonly call: Call
  readonly run: Run | undefined
  /** Whether it ran under an idempotency key. */
  readonly isKeyed: boolean
  /** The arguments, decoded, and the services of the execution; none where it ran in another life. */
  readonly live: { readonly params: unknown; readonly context: Context.Context<never> } | undefined
  /** Its place among the executions; left out: it begins now. */
  readonly position?: number | undefined
  /** The result as JSON, if it has been written so. */
  readonly encoded: Schema.Json | undefined
  /** What the ledger knows it by; left out: what the call holds. */
  readonly intent?: Intent | undefined
}

/** An execution as a write. */
const writeOf = (executed: Executed, run: Run, known: DoneWrite["known"]): DoneWrite => {
  const { call, encoded, info } = executed
  const id = idOf(executed, run)
  // The attempt of raced ones that ends last has no claim any more.
  const intent = executed.intent ?? call.record.claiming.claim?.intent ?? run.writes.done?.get(id)?.write.intent
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

/** Notes what an execution has done, for the runs that may have to undo it. */
export const noteDone = (executed: Executed, exit: Exit.Exit<unknown, unknown>): void => {
  const { call, info, live, position, run } = executed
  if (info.compensation === undefined || run?.writes.done === undefined) return
  const known = knownOf(exit, call.record)
  if (known === undefined) return removeDone(run, idOf(executed, run))
  const write = writeOf(executed, run, known)
  // What this process has done it knows better than what is stored of it.
  if (live === undefined && run.writes.done.get(write.id)?.write.known === "done") return
  addDone(
    run,
    write,
    live && { ...live, info, outcome: call.record.outcome, value: Exit.isSuccess(exit) ? exit.value : undefined },
    position
  )
}

/** Whether an earlier life of the run has begun an execution under a claim of its key. */
export const hasBegun = (executed: Executed, claim: string): boolean => {
  const { run } = executed
  return run?.journal !== undefined && hasStartedUnder(run.journal, idOf(executed, run), claim)
}

/** Whether the run, or one around it, has noted another call that an entry of the ledger is about: one entry is one write. */
export const isNotedByAnother = (executed: Executed, entry: string): boolean => {
  if (executed.run === undefined) return false
  const id = idOf(executed, executed.run)
  for (let run: Run | undefined = executed.run; run?.writes.done !== undefined; run = run.parent) {
    const noted = run.writes.done.ofEntry(entry)
    if (noted !== undefined) return noted.id !== id
  }
  return false
}

/** What is recorded of an execution before it begins, where a run may have to undo it; nothing where none has. */
export const writeOfStart = (executed: Executed): DoneWrite | undefined => {
  const { info, run } = executed
  return info.compensation === undefined || run?.writes.done === undefined
    ? undefined
    : writeOf(executed, run, "unknown")
}

/** The result of a tool whose writes can be undone as JSON; nothing where JSON does not hold it. */
export const encodedResult = (success: Schema.Top, value: unknown): Effect.Effect<Schema.Json | undefined> =>
  Effect.map(
    Effect.option(Schema.encodeUnknownEffect(Schema.toCodecJson(success))(value)) as Effect.Effect<
      Option.Option<unknown>
    >,
    Option.match({ onNone: () => undefined, onSome: (json) => (json ?? null) as Schema.Json })
  )
