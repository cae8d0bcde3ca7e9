/** Compensation of one write: by its declared inverse, once it is known that the write happened. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import type * as Tool from "../../tool/tool.ts"
import { CompensationInterceptor } from "../../../ToolInterceptor.ts"
import { ToolCall } from "../../call/call.ts"
import { EnclosingCall } from "../../call/children/childCall.ts"
import type { Compensation } from "../../call/tool/toolCompensation.ts"
import { underKeyOf } from "../../call/ledger/compensatedKey.ts"
import { askLedgerOnly } from "../../call/ledger/ledgerLookup.ts"
import { settle } from "../../call/record/claiming.ts"
import { newRecord } from "../../call/record/record.ts"
import type { ToolInfo } from "../../call/tool/toolInfo.ts"
import { answerWithin } from "../../foundation/effect/answerWithin.ts"
import { canonicalJson } from "../../foundation/json/canonicalJson.ts"
import { sha256 } from "../../foundation/digest.ts"
import { decoderOfJson } from "../../foundation/json/jsonForm.ts"
import type { CompensableWrite, CompletedWrite } from "../../run/writes/completedWrites.ts"
import { errorName } from "../../run/observe/errorName.ts"
import { CurrentRun, type Run } from "../../run/run.ts"
import type { CompensatedMark } from "../../run/transcript.ts"
import { Redaction } from "../../../Redaction.ts"
import type { Compensates } from "./compensationOptions.ts"
import { type Because, type Fate, notCompensatedFate } from "./compensationOutcome.ts"
import { effectResult } from "../../foundation/options/hookResult.ts"
import { separator } from "../../path/path.ts"

/** The tools of agents, those of their agents that are tools included. */
const all = (tools: ReadonlyArray<Tool.Own>): ReadonlyArray<Tool.Own> =>
  tools.flatMap((own) => [own, ...all(own.tool.ownTools?.() ?? [])])

/**
 * Returns the tool that compensates a write. A call of an agent's model is one of a tool of that agent, or of its
 * chosen skill. Any other call is one of a tool of the agent, or of a listed one; else of a tool of another agent.
 * `undefined` if several are possible: the compensation of another tool would compensate something else.
 */
export const toolOf = (
  tools: ReadonlyArray<Tool.Own>,
  { identity, path, skill: chosen, tool: name }: CompensableWrite
): ToolInfo | undefined => {
  const known = all(tools)
  const caller = path.at(-1)
  const named = known.filter(({ tool }) => tool.name === name && tool.info.compensation !== undefined)
  const own = named.filter(({ agent, skill }) =>
    agent === caller && (skill === undefined || chosen === undefined || skill === chosen)
  )
  const near = named.filter(({ agent }) => agent === caller || agent === undefined)
  const isOfModel = !identity.includes(separator) && known.some(({ agent }) => agent === caller)
  const meant = isOfModel ? own : near.length > 0 ? near : named
  const infos = new Set(meant.map(({ tool }) => tool.info))
  return infos.size === 1 ? [...infos][0] : undefined
}

/** Services and state of a compensation. */
interface Compensating {
  readonly compensation: Compensation
  readonly params: unknown
}

const decodeArguments = ({ parameters }: Compensation, args: Schema.Json) =>
  decoderOfJson(parameters as Schema.Decoder<unknown>)(args)

const decodeResult = ({ success }: Compensation, result: Schema.Json) =>
  Schema.decodeUnknownEffect(Schema.toCodecJson(success))(result) as Effect.Effect<unknown, unknown>

/** A run that is over. */
export interface ToCompensate {
  readonly run: Run
  readonly compensates: Compensates
  readonly ambient: Context.Context<never>
  /** True if the run has ended already: its calls' resources may be closed since, and `ambient` has new ones. */
  readonly isBehind?: boolean | undefined
  /** Called for each write that is compensated, or may be: later readers of the conversation learn of it. */
  readonly onCompensated: (write: CompensableWrite, mark: CompensatedMark) => void
}

/** Compensates writes of one run, one after the other. */
export class WriteCompensation {
  private readonly run: Run
  private readonly compensates: Compensates
  private readonly ambient: Context.Context<never>
  private readonly isBehind: boolean

  constructor({ ambient, compensates, isBehind = false, run }: ToCompensate) {
    this.run = run
    this.compensates = compensates
    this.ambient = ambient
    this.isBehind = isBehind
  }

  private failed(because: Because, cause: Cause.Cause<unknown>): Fate {
    const error = errorName(cause, Context.get(this.ambient, Redaction))
    return { outcome: "not_undone", because, error, reason: Cause.squash(cause) }
  }

  infoOf({ live, write }: CompletedWrite): ToolInfo | undefined {
    return live?.info as ToolInfo | undefined ?? toolOf(this.compensates.tools, write)
  }

  /** Compensates a write, or says why it is not compensated. Never fails. */
  fateOf(done: CompletedWrite, spanned: Context.Context<never>): Effect.Effect<Fate> {
    const { live, write } = done
    if (write.known === "partial" || write.known === "pending") return Effect.succeed(notCompensatedFate(write.known))
    const compensation = this.infoOf(done)?.compensation
    if (compensation === undefined) return Effect.succeed(notCompensatedFate("no_tool"))
    // The ledger has no entry of a write that had no key at its start.
    if (write.known === "unknown" && (!compensation.canReconcile || write.intent === undefined)) {
      return Effect.succeed(notCompensatedFate("unknown"))
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
    const compensating = (params: unknown): Compensating => ({ compensation, params })
    const began = live === undefined
      ? Effect.map(Effect.option(decodeArguments(compensation, write.arguments)), Option.map(compensating))
      : Effect.succeed(Option.some(compensating(live.params)))
    const fate = Effect.flatMap(began, (found): Effect.Effect<Fate> => {
      if (Option.isNone(found)) return Effect.succeed(notCompensatedFate("unreadable"))
      if (write.known === "unknown") return this.reconciled(write, found.value)
      if (live !== undefined) return this.compensated(write, found.value, live.value)
      return write.result === undefined
        ? Effect.succeed(notCompensatedFate("unreadable"))
        : Effect.flatMap(Effect.option(decodeResult(compensation, write.result)), (result) =>
          Option.isNone(result)
            ? Effect.succeed(notCompensatedFate("unreadable"))
            : this.compensated(write, found.value, result.value))
    })
    return Effect.catchCause(
      answerWithin(
        Effect.provideContext(fate, context),
        compensation.timeout ?? this.compensates.timeout,
        () => Effect.succeed(notCompensatedFate("timeout"))
      ),
      (cause) => Effect.succeed(this.failed("failed", cause))
    )
  }

  /** Determines if a write without an answer happened. Does not execute it. */
  private reconciled(write: CompensableWrite, compensating: Compensating): Effect.Effect<Fate> {
    const { compensation } = compensating
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
    // By hand, because a look at the ledger needs no policy; under the scope of the run that owns the key.
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
        ? this.compensated(write, compensating, exit.value)
        : Effect.succeed(this.failed("unknown", exit.cause))
    })
  }

  private compensated(
    write: CompensableWrite,
    { compensation, params }: Compensating,
    result: unknown
  ): Effect.Effect<Fate> {
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
      const inverse: Effect.Effect<unknown, unknown, unknown> = Effect.suspend(() =>
        effectResult(
          { subject: `Tool "${write.tool}"`, name: "compensate" },
          compensation.compensate(params as never, result as never)
        )
      )
      const interceptedInverse = Effect.flatMap(
        CompensationInterceptor,
        (intercept) => intercept?.({ tool: write.tool, callId: write.callId, params, result }, inverse) ?? inverse
      )
      const during = compensation.timeout ?? this.compensates.timeout
      return Effect.matchCause(underKeyOf(write, during, Effect.provideService(interceptedInverse, ToolCall, call)), {
        onFailure: (cause): Fate => this.failed("failed", cause),
        onSuccess: (): Fate => ({ outcome: "undone" })
      }) as Effect.Effect<Fate>
    })
  }
}
