/**
 * Intents in the journal of a run: a call that may do something runs once for each place, in all lives of the run. The journal
 * has its intent before the executor begins.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Journal } from "../../Journal.ts"
import { noteStartedWrite, type Run, use } from "../run/run.ts"
import { type Attempt, openEntry } from "./attemptLog.ts"
import { begunRecord, mayKey, notKey, recordedWrite } from "../run/begunWrites.ts"
import { begunWrite, type Executed, noteDone } from "./noteDone.ts"
import { mayBeRepeated, type PassThrough } from "./execution.ts"
import { begin, close, recordStart } from "./happened.ts"
import type { AttemptError } from "./attemptError.ts"
import { endExecution, noteAnswer } from "./record/outcome.ts"
import type { ToolInfo } from "./toolInfo.ts"
import { refuse } from "./refusal.ts"

/** What runs. */
export interface Intended {
  readonly attempt: Attempt
  readonly info: ToolInfo
  readonly success: Schema.Top
}

const Intent = Schema.Struct({ tool: Schema.String, at: Schema.Number })
const decodeIntent = Schema.decodeUnknownOption(Intent)

const placeOf = (run: Run, tool: string, call: string): string => `${run.scope}/${tool.length}:${tool}/${call}`

/** Whether an earlier life of the run has begun a call that a model made. */
export const hasIntent = (journal: Journal, run: Run, tool: string, call: string): boolean => {
  const place = placeOf(run, tool, call)
  return journal.find("write", place) !== undefined || journal.find("child", place) !== undefined
}

/** Whether the beginnings of a tool's calls are recorded. */
export const writesIntents = (info: ToolInfo): boolean =>
  !mayBeRepeated(info) && !info.passesKey && info.isAgent !== true

/** Tells an attempt from those before it that have executed. */
const laterOf = ({ call: { record }, number }: Attempt): string => record.outcome.executed ? `@${number}` : ""

/** One for all attempts that are the first to execute: whoever fixed the arguments may do it otherwise in another life. */
const keyOf = (run: Run, { attempt, info }: Intended): string =>
  `${run.scope}/${info.name.length}:${info.name}/${attempt.call.identity ?? attempt.call.id}${laterOf(attempt)}`

/** One for all attempts of a call: at most one of them is committed with its record. */
export const placeOfCall = (run: Run, { attempt: { call }, info }: Intended): string =>
  placeOf(run, info.name, call.identity ?? call.id)

/**
 * How a call ends that an earlier life of the run has begun: it does not run again. Nothing where none has. Looked for before
 * the gate, as no refusal of today makes undone what was begun; and whatever the tool is today, as it was a write without a key then.
 */
export const begunBefore = <A>(
  journal: Journal,
  run: Run,
  intended: Intended
): Effect.Effect<A, AttemptError | PassThrough, unknown> | undefined => {
  const { attempt, success } = intended
  const { call } = attempt
  const { record } = call
  const key = keyOf(run, intended)
  const intent = Option.getOrUndefined(decodeIntent(journal.find("write", key)))
  const committed = intent === undefined ? journal.find("child", placeOfCall(run, intended)) : undefined
  if (intent === undefined && committed === undefined) return undefined
  return Effect.suspend(() => {
    use(run, "toolCalls", 1)
    begin(record, () => run.clock.currentTimeMillisUnsafe())
    noteStartedWrite(run, record.outcome)
    const entry = openEntry(attempt)
    const outcome = committed ?? journal.find("child", key)
    const unknown = Effect.suspend(() => {
      endExecution(record, "unknown")
      entry.outcome = "unknown"
      close(record)
      noteAnswered(intended, run, undefined, undefined)
      return refuse(call, run)
    })
    if (outcome === undefined) return unknown
    return Effect.matchEffect(Schema.decodeUnknownEffect(Schema.toCodecJson(success))(outcome), {
      // The schema of today cannot read it: the call happened, and its result is unknown.
      onFailure: () => unknown,
      onSuccess: (value) => {
        endExecution(record, "yes")
        entry.outcome = "success"
        noteAnswer(record, { value })
        noteAnswered(intended, run, outcome, value)
        return Effect.succeed(value as A)
      }
    })
  })
}

/** Notes what the earlier life has done, and what it has begun of which nobody knows. */
const noteAnswered = (
  { attempt: { call }, info }: Intended,
  run: Run,
  encoded: Schema.Json | undefined,
  value: unknown
): void =>
  noteDone(
    { call, encoded, info, isKeyed: false, live: undefined, run },
    encoded === undefined ? Exit.fail(undefined) : Exit.succeed(value)
  )

/**
 * Records that a call begins, and begins it. `key` is what it runs under: then it has no intent, as it may run again. What can be undone is
 * recorded all the same, for whoever undoes it.
 */
export const withIntent = <A, R>(
  journal: Journal,
  run: Run,
  intended: Intended,
  key: string | undefined,
  execute: () => Effect.Effect<A, AttemptError | PassThrough, R>
): Effect.Effect<A, AttemptError | PassThrough, R> => {
  const { attempt: { call }, info, success } = intended
  const isIntended = key === undefined && writesIntents(info)
  // What is committed with its record needs no other before it.
  const isCommitted = info.isTransaction === true && journal.transaction !== undefined
  const write = info.isAgent === true ? undefined : begunWrite(executedOf(intended, run, key !== undefined))
  if (write === undefined && (!isIntended || isCommitted)) return execute()
  const place = isCommitted ? placeOfCall(run, intended) : isIntended ? keyOf(run, intended) : mayKey(write!.id)
  // What is recorded of this attempt says nothing of a later one.
  const later = laterOf(intended.attempt)
  const begun = write && begunRecord(run, write, { child: place, isAtomic: isCommitted, later })
  const recorded = isIntended && !isCommitted
    ? journal.record("write", place, { tool: info.name, at: run.clock.currentTimeMillisUnsafe(), ...begun })
    : journal.record("compensation", mayKey(write!.id + later), begun!)
  const executed = Effect.flatMap(recorded, execute)
  // What follows a call that another tool made may take long: its own outcome is recorded at once.
  return call.record.parent === undefined || isCommitted ?
    executed :
    Effect.onExit(executed, (exit) =>
      Exit.isFailure(exit)
        ? write === undefined || call.record.outcome.happened !== "no"
          ? Effect.void
          : journal.record("compensation", notKey(write.id + later), true)
        : Effect.flatMap(
          Effect.option(Schema.encodeUnknownEffect(Schema.toCodecJson(success))(exit.value)),
          Option.match({
            onNone: () => Effect.void,
            onSome: (value) => journal.record("child", place, (value ?? null) as Schema.Json)
          })
        ) as Effect.Effect<void>)
}

const executedOf = ({ attempt: { call }, info }: Intended, run: Run, isKeyed: boolean): Executed => ({
  call,
  encoded: undefined,
  info,
  isKeyed,
  live: undefined,
  run
})

/**
 * Notes that a call may have been done which is not made again, as its run is cancelled: of one that runs under a key, or does nothing twice, there is no
 * intent to tell.
 */
export const noteCutOff = ({ attempt: { call, run }, info }: Intended): void => {
  if (run?.journal === undefined) return
  const isKeyed = info.passesKey || call.idempotency !== undefined
  if (!isKeyed && info.effects !== "idempotent") return
  const executed = executedOf({ attempt: { call, run } as Attempt, info, success: Schema.Unknown }, run, isKeyed)
  const write = begunWrite(executed)
  if (write !== undefined && run.journal.find("compensation", mayKey(write.id)) === undefined) return
  const intent = write && recordedWrite(run.journal, write.id)?.intent
  recordStart(run, call.record, "unknown", () => run.clock.currentTimeMillisUnsafe())
  noteDone({ ...executed, intent }, Exit.fail(undefined))
}
