/** Logged writes: an attempt that may write is in the write log of its run before its executor starts, and again when it has ended. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { toJson } from "../../foundation/json/jsonValue.ts"
import type { Run } from "../../run/run.ts"
import { resultsMessage } from "../../run/transcript.ts"
import type { LoggedWrite, WriteLog, WriteOutcome } from "../../run/writes/writeLog.ts"
import * as Arguments from "../arguments/toolArguments.ts"
import type { PassThrough } from "../execute/effects.ts"
import { withStart } from "../replay/appendStart.ts"
import { type AttemptedCall, pathOfCall } from "../replay/attemptedCall.ts"
import type { AttemptError } from "../attemptError.ts"
import { type CallRecord, outerOf, toolName } from "../record/record.ts"
import type { ToolInfo } from "../tool/toolInfo.ts"

const outcomes = { yes: "completed", no: "not_done", unknown: "unknown" } as const

/** Outcome of a call's writes, by its record. */
export const outcomeOf = ({ outcome: { happened } }: Pick<CallRecord, "outcome">): WriteOutcome => outcomes[happened]

/** The call of the outermost agent that a call is part of, or the call itself. */
const outermost = (record: CallRecord): CallRecord => {
  const outer = outerOf(record)
  return outer === undefined ? record : outermost(outer)
}

/**
 * True if a tool may write. The writes of an agent that is a tool are logged themselves, unless the agent is declared
 * as a write.
 */
const mayWrite = ({ effects, isAgent }: ToolInfo): boolean =>
  isAgent === true ? effects === "write" || effects === "idempotent" : effects !== "read"

const callsOf = (message: Prompt.Message, id: string): ReadonlyArray<Prompt.ToolCallPart> =>
  message.role !== "assistant"
    ? []
    : message.content.filter((part): part is Prompt.ToolCallPart => part.type === "tool-call" && part.id === id)

/** The message with only the model's call; for a call without a model, a constructed one. */
const messageOf = (record: CallRecord): Prompt.Message => {
  const said = record.gate?.messages().findLast((message) => callsOf(message, record.callId).length > 0)
  if (said?.role === "assistant") {
    return Prompt.assistantMessage({ content: callsOf(said, record.callId).slice(0, 1), options: said.options })
  }
  const params = Option.getOrElse(toJson(record.attempts.requested?.arguments), () => null)
  return Prompt.assistantMessage({
    content: [Prompt.toolCallPart({ id: record.callId, name: toolName(record), params, providerExecuted: false })]
  })
}

/** The result of a call that no model made: it is over with its attempt. */
const answered = (
  log: WriteLog,
  write: LoggedWrite,
  { attempt: { call: { record } }, info, success }: AttemptedCall
) => {
  const value = record.outcome.answered
  // Untrusted text is read by a model only in its envelope, which no one has made here.
  const encoded = value === undefined || info.results.areUntrusted
    ? Effect.succeedNone
    : Effect.option(Schema.encodeUnknownEffect(Schema.toCodecJson(success))(value.value)) as Effect.Effect<
      Option.Option<Schema.Json>
    >
  return Effect.flatMap(encoded, (json) =>
    Option.isNone(json) || record.outcome.happened !== "yes"
      ? log.end(write, outcomeOf(record))
      : log.answer(write, "completed", () =>
        resultsMessage([{
          call: { id: write.callId, name: info.name, params: record.attempts.requested?.arguments },
          isFailure: false,
          encoded: json.value ?? null,
          modelOutput: undefined,
          repaired: undefined
        }])))
}

const argumentsOf = ({ attempts: { requested } }: CallRecord): unknown =>
  Result.getOrElse(Arguments.read(requested?.arguments), () => requested?.arguments)

/** Executes an attempt, once the journal or the write log of its run has its start. */
export const recorded = <A, R>(
  run: Run,
  attempted: AttemptedCall,
  key: string | undefined,
  execute: () => Effect.Effect<A, AttemptError | PassThrough, R>
): Effect.Effect<A, AttemptError | PassThrough, R> =>
  run.log === undefined ? logged(run, attempted, execute) : withStart(run.log, run, attempted, key, execute)

const logged = <A, E, R>(
  run: Run,
  attempted: AttemptedCall,
  execute: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const { writes: { log } } = run
  const { attempt: { call: { record } }, info } = attempted
  if (log === undefined || !mayWrite(info)) return execute()
  const top = outermost(record)
  const write: LoggedWrite = { runId: run.id, callId: top.callId, write: pathOfCall(run, attempted) }
  const start = log.start({
    ...write,
    tool: info.name,
    path: run.path,
    arguments: argumentsOf(record),
    message: () => messageOf(top)
  })
  const executed = Effect.flatMap(start, execute)
  // The result of a model's call comes when the call is over.
  if (top === record && record.gate !== undefined) return executed
  return Effect.onExit(
    executed,
    () => top === record ? answered(log, write, attempted) : log.end(write, outcomeOf(record))
  )
}
