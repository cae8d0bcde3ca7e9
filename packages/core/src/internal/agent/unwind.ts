/** Unwinding: undoes what a run has done, the newest first, and says what is not undone. */
/* oxlint-disable max-lines -- one undoing, from what is left to undo to what is told of it */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import { NotCompensated } from "../../ToolError.ts"
import { CompensationInterceptor } from "../../ToolInterceptor.ts"
import { ToolCall } from "../call/call.ts"
import { EnclosingCall } from "../call/childCall.ts"
import type { Compensation } from "../call/compensation.ts"
import { underKeyOf } from "../call/compensatedKey.ts"
import { askLedgerOnly } from "../call/ledgerOnly.ts"
import { settle } from "../call/ledger/settleCall.ts"
import { noteCompensated } from "../call/record/outcome.ts"
import { newRecord } from "../call/record/record.ts"
import type { ToolInfo } from "../call/toolInfo.ts"
import { answerWithin } from "../foundation/answerWithin.ts"
import { canonicalJson } from "../foundation/canonicalJson.ts"
import { sha256 } from "../foundation/digest.ts"
import { decoderOfJson } from "../foundation/jsonForm.ts"
import { before } from "../foundation/sequence.ts"
import { audit } from "../result/writeAudit.ts"
import { auditedKey, compensationKey, reportedKey } from "../path/entryKeys.ts"
import type { Done, DoneWrite, DoneWrites } from "../run/doneWrites.ts"
import { answeredCalls, handOver } from "../run/ledgerAnswers.ts"
import { idAround, removeDone } from "../run/noteDone.ts"
import { errorName } from "../run/errorName.ts"
import { CurrentRun, emit, type Run } from "../run/run.ts"
import { inSpan } from "../run/span.ts"
import type { UndoneMark } from "../run/transcript.ts"
import { toolOf } from "./toolOf.ts"
import { Redaction } from "../../Redaction.ts"
import type { Compensates } from "./compensationOptions.ts"
import { addCompensation } from "../run/state/writes.ts"

type Because = NotCompensated["because"]

/** What became of a write that was to be undone. */
type Fate =
  | { readonly outcome: "undone" | "not_happened" }
  | {
    readonly outcome: "not_undone"
    readonly because: Because
    /** The name of the reason. */
    readonly error?: string
    readonly reason?: unknown
  }

const notUndone = (because: Because): Fate => ({ outcome: "not_undone", because })

/** What is known of a write whose undoing has begun. One that failed, or gave no answer, may have done its work. */
const markOf = (fate: Fate): UndoneMark | undefined => {
  if (fate.outcome !== "not_undone") return fate.outcome === "undone" ? "undone" : undefined
  return fate.because === "failed" || fate.because === "timeout" ? "may_be_undone" : undefined
}

/** What is said of a fate: its reason is for who is given the report alone. */
const toldOf = (fate: Fate) => ({
  outcome: fate.outcome,
  ...("because" in fate ? { because: fate.because } : undefined),
  ...("error" in fate ? { error: fate.error } : undefined)
})

/** A fate as it stands in the journal of a run. */
const Recorded = Schema.Struct({
  outcome: Schema.Literals(["undone", "not_happened", "not_undone"]),
  because: Schema.optionalKey(NotCompensated.fields.because),
  error: Schema.optionalKey(Schema.String)
})
const readFate = Schema.decodeUnknownOption(Recorded)

/** What a write is undone with. */
interface Undoing {
  readonly compensation: Compensation
  readonly params: unknown
}

const decodeArguments = ({ parameters }: Compensation, args: Schema.Json) =>
  decoderOfJson(parameters as Schema.Decoder<unknown>)(args)

const decodeResult = ({ success }: Compensation, result: Schema.Json) =>
  Schema.decodeUnknownEffect(Schema.toCodecJson(success))(result) as Effect.Effect<unknown, unknown>

/** A run that is over. */
export interface ToUnwind {
  readonly run: Run
  readonly compensates: Compensates
  readonly ambient: Context.Context<never>
  /** Whether the run has ended already: what its calls were given may be closed since, and `ambient` has it anew. */
  readonly isBehind?: boolean | undefined
  /** Called for each write that is undone, or may be: whoever reads the conversation on learns so. */
  readonly onUndone: (write: DoneWrite, mark: UndoneMark) => void
}

const unaudited = (callId: string, tool: string): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logError("A compensation has no audit record"), { call_id: callId, tool })

/** Undoes the writes of one run. */
class Unwinding {
  private readonly run: Run
  private readonly compensates: Compensates
  private readonly ambient: Context.Context<never>
  private readonly isBehind: boolean
  private readonly onUndone: ToUnwind["onUndone"]
  readonly left: Array<NotCompensated> = []
  private readonly leftIds: Array<string> = []
  /** What an audit failed with that could not be written. The other writes are undone all the same. */
  broken: Cause.Cause<never> | undefined

  constructor({ ambient, compensates, isBehind = false, onUndone, run }: ToUnwind) {
    this.run = run
    this.compensates = compensates
    this.ambient = ambient
    this.isBehind = isBehind
    this.onUndone = onUndone
  }

  /** Undoes one write, tells it, and forgets it. A write that a live call outside of the run was told of stands. */
  undo(done: Done): Effect.Effect<void> {
    const { run } = this
    const { live, position, write } = done
    if (handOver(run, write, live, position)) return Effect.void
    const { journal } = run
    const found = journal?.find("compensation", write.id)
    const fate: Effect.Effect<Fate> = found === undefined
      ? journal === undefined ? this.inSpan(done) : Effect.tap(
        this.recorded(done),
        (fate) => journal.record("compensation", write.id, toldOf(fate))
      )
      : Effect.succeed(Option.getOrElse(readFate(found), () => notUndone("unreadable")) as Fate)
    return Effect.flatMap(fate, (fate) => {
      const { callId, tool } = write
      removeDone(run, write.id)
      if (fate.outcome === "undone" && done.live !== undefined) noteCompensated(done.live.outcome)
      const told = toldOf(fate)
      let id = callId
      for (let current: Run | undefined = run; current !== undefined; current = current.parent) {
        addCompensation(current, { tool, callId: id, ...told })
        id = idAround(current, id)
      }
      const mark = markOf(fate)
      if (mark !== undefined) {
        for (const root of new Set([write.root, ...answeredCalls(run, write)])) this.onUndone({ ...write, root }, mark)
      }
      if (fate.outcome === "not_undone") {
        const { outcome: _, ...why } = fate
        this.left.push(new NotCompensated({ tool, callId, arguments: write.arguments, ...why }))
        this.leftIds.push(write.id)
      }
      // What an earlier life has told is not told again. It may have been killed in between.
      const key = auditedKey(write.id)
      return journal?.find("compensation", key) !== undefined
        ? Effect.void
        : Effect.andThen(
          this.tell(write, fate),
          (journal?.note ?? journal?.record)?.("compensation", key, true) ?? Effect.void
        )
    })
  }

  /** Undoes a write of a run that has a journal: at most once, unless it does nothing twice. */
  private recorded(done: Done): Effect.Effect<Fate> {
    const { id } = done.write
    const journal = this.run.journal!
    const begun = compensationKey(id)
    if (journal.find("compensation", begun) !== undefined) {
      const info = this.infoOf(done)
      const isRepeatable = info?.passesKey === true || info?.effects === "idempotent"
      return isRepeatable ? this.inSpan(done) : Effect.succeed(notUndone("timeout"))
    }
    return before(journal.record("compensation", begun, { tool: done.write.tool }), () => this.inSpan(done))
  }

  private tell({ arguments: args, callId, tool }: DoneWrite, fate: Fate): Effect.Effect<void> {
    const { run } = this
    const isUndone = fate.outcome !== "not_undone"
    const audited = audit(run, { id: callId, tool, args }, {
      decision: isUndone ? "compensated" : "not_compensated",
      ...(isUndone
        ? undefined
        : { reason: fate.error === undefined ? fate.because : `${fate.because}: ${fate.error}` })
    })
    return Effect.andThen(
      this.broken === undefined ? this.orBroken(audited) : unaudited(callId, tool),
      emit(run, () => ({ _tag: "ToolCompensated", callId, tool, ...toldOf(fate) }))
    )
  }

  /** Writes an audit record. One that cannot be written is the last that is tried: a store that hangs would hold up the others. */
  private orBroken(audited: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.catchCause(audited, (cause) =>
      Effect.sync(() => {
        this.broken = cause
      }))
  }

  private inSpan(done: Done): Effect.Effect<Fate> {
    const { callId, tool } = done.write
    return Effect.provideContext(
      inSpan(
        this.run.start.tracing,
        {
          name: `compensate_tool ${tool}`,
          attributes: { "gen_ai.tool.name": tool, "gen_ai.tool.call.id": callId, "gen_ai.tool.type": "function" }
        },
        Effect.contextWith((context: Context.Context<never>) => this.fateOf(done, context)),
        {
          errorType: (exit) =>
            Exit.isSuccess(exit) && exit.value.outcome === "not_undone" ? exit.value.because : undefined
        }
      ),
      this.ambient
    )
  }

  private failed(because: Because, cause: Cause.Cause<unknown>): Fate {
    const error = errorName(cause, Context.get(this.ambient, Redaction))
    return { outcome: "not_undone", because, error, reason: Cause.squash(cause) }
  }

  private infoOf({ live, write }: Done): ToolInfo | undefined {
    return live?.info as ToolInfo | undefined ?? toolOf(this.compensates.tools, write)
  }

  private fateOf(done: Done, spanned: Context.Context<never>): Effect.Effect<Fate> {
    const { live, write } = done
    if (write.known === "partial" || write.known === "pending") return Effect.succeed(notUndone(write.known))
    const compensation = this.infoOf(done)?.compensation
    if (compensation === undefined) return Effect.succeed(notUndone("no_tool"))
    // The ledger knows nothing of a write that had no key when it started.
    if (write.known === "unknown" && (!compensation.canReconcile || write.intent === undefined)) {
      return Effect.succeed(notUndone("unknown"))
    }
    const { ambient, isBehind } = this
    const services = live === undefined
      ? ambient
      : isBehind
      ? Context.merge(live.context, ambient)
      : Context.merge(ambient, live.context)
    const span = Context.getOption(spanned, Tracer.ParentSpan)
    const context = services.pipe(
      Context.add(CurrentRun, this.run),
      Context.add(EnclosingCall, undefined),
      Option.isSome(span) ? Context.add(Tracer.ParentSpan, span.value) : (context) => context
    ) as Context.Context<never>
    const undoing = (params: unknown): Undoing => ({ compensation, params })
    const began = live === undefined
      ? Effect.map(Effect.option(decodeArguments(compensation, write.arguments)), Option.map(undoing))
      : Effect.succeed(Option.some(undoing(live.params)))
    const fate = Effect.flatMap(began, (found): Effect.Effect<Fate> => {
      if (Option.isNone(found)) return Effect.succeed(notUndone("unreadable"))
      if (write.known === "unknown") return this.reconciled(write, found.value)
      if (live !== undefined) return this.compensated(write, found.value, live.value)
      return write.result === undefined
        ? Effect.succeed(notUndone("unreadable"))
        : Effect.flatMap(Effect.option(decodeResult(compensation, write.result)), (result) =>
          Option.isNone(result)
            ? Effect.succeed(notUndone("unreadable"))
            : this.compensated(write, found.value, result.value))
    })
    return Effect.catchCause(
      answerWithin(
        Effect.provideContext(fate, context),
        compensation.timeout ?? this.compensates.timeout,
        () => Effect.succeed(notUndone("timeout"))
      ),
      (cause) => Effect.succeed(this.failed("failed", cause))
    )
  }

  /** Finds out whether a write happened that gave no answer. Nothing is executed. */
  private reconciled(write: DoneWrite, undoing: Undoing): Effect.Effect<Fate> {
    const { compensation } = undoing
    const { identity, scope } = write
    const call = {
      id: write.callId,
      arguments: write.arguments,
      attempt: 1,
      level: "tool" as const,
      scope,
      identity,
      record: newRecord(write.callId, { approved: canonicalJson(write.arguments) })
    }
    // By hand, as a look at the ledger needs no policy; under the scope of the run, whose key it is.
    const asked = Effect.provideService(
      // A look-up that took the claim of the write gives it up, also without an answer.
      Effect.ensuring(
        askLedgerOnly(call, compensation.attempt as Effect.Effect<unknown, unknown, ToolCall>),
        Effect.suspend(() => settle(call))
      ),
      CurrentRun,
      undefined
    )
    return Effect.flatMap(asked, (exit): Effect.Effect<Fate> => {
      if (exit === undefined) return Effect.succeed({ outcome: "not_happened" })
      return Exit.isSuccess(exit)
        ? this.compensated(write, undoing, exit.value)
        : Effect.succeed(this.failed("unknown", exit.cause))
    })
  }

  private compensated(write: DoneWrite, { compensation, params }: Undoing, result: unknown): Effect.Effect<Fate> {
    return Effect.flatMap(sha256(canonicalJson(["compensate", write.id])), (idempotencyKey) => {
      const record = newRecord(write.callId)
      const call = {
        id: write.callId,
        arguments: write.arguments,
        attempt: 1,
        level: "tool" as const,
        idempotencyKey,
        scope: write.scope,
        identity: write.identity,
        record
      }
      const undo: Effect.Effect<unknown, unknown, unknown> = Effect.suspend(() =>
        compensation.undo(params as never, result as never)
      )
      const undone = Effect.flatMap(
        CompensationInterceptor,
        (intercept) => intercept?.({ tool: write.tool, callId: write.callId, params, result }, undo) ?? undo
      )
      const during = compensation.timeout ?? this.compensates.timeout
      return Effect.matchCause(underKeyOf(write, during, Effect.provideService(undone, ToolCall, call)), {
        onFailure: (cause): Fate => this.failed("failed", cause),
        onSuccess: (): Fate => ({ outcome: "undone" })
      }) as Effect.Effect<Fate>
    })
  }

  /** Tells a person what is left. */
  report(): Effect.Effect<void> {
    return Effect.andThen(this.reportToPeople(), Effect.suspend(() => this.recordReported()))
  }

  /** A process that is killed before this reports again. */
  private recordReported(): Effect.Effect<void> {
    const { leftIds, run: { journal } } = this
    return journal === undefined
      ? Effect.void
      : Effect.forEach(leftIds, (id) => journal.record("compensation", reportedKey(id), true), { discard: true })
  }

  private reportToPeople(): Effect.Effect<void> {
    const { ambient, compensates: { report, timeout }, left } = this
    if (report === undefined || left.length === 0) return Effect.void
    const reported = Effect.provideContext(Effect.suspend(() => report(left)), ambient as Context.Context<unknown>)
    return Effect.catchCause(
      Effect.asVoid(answerWithin(reported, timeout, () => Effect.logWarning("compensation.report gave no answer"))),
      (cause) => Effect.logWarning("compensation.report failed", cause)
    )
  }
}

/**
 * Undoes writes of a run that is over, the newest first, and reports what is left. Answers what ends the run besides: an audit that
 * cannot be written.
 */
export const unwind = (
  over: ToUnwind,
  done: DoneWrites,
  onlyRevoked: boolean
): Effect.Effect<Cause.Cause<never> | undefined> =>
  Effect.suspend(() => {
    const all = done.newestFirst().filter(({ write }) => !onlyRevoked || write.revoked === true)
    if (all.length === 0) return Effect.undefined
    done.isUnwound = true
    const unwinding = new Unwinding(over)
    return Effect.andThen(
      Effect.forEach(all, (one) => unwinding.undo(one), { discard: true }),
      Effect.map(Effect.suspend(() => unwinding.report()), () => unwinding.broken)
    )
  })
