/**
 * Run boundary: opens and closes one agent's run. Holds its account, deadline, span, first and last event, and record.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { version } from "../../EventParts.ts"
import type { BudgetExceeded } from "../../Budget.ts"
import { ToolCall } from "../call/call.ts"
import { passTaint } from "../call/children/untrustedContent.ts"
import { annotateInterruption } from "../foundation/effect/annotateInterruption.ts"
import { Pause } from "../loop/pause.ts"
import { stopOf } from "../run/account.ts"
import { recallDone } from "../run/writes/recordedWrites.ts"
import { operatorMessage } from "../run/runFailure.ts"
import { runCleanupsBefore } from "../run/writes/cleanups.ts"
import { Annotation, type RunRecord } from "../run/runEntries.ts"
import { CurrentRun, emit, type Run } from "../run/run.ts"
import { inSpan } from "../run/observe/telemetry.ts"
import type { Body } from "./runBody.ts"
import type { Limits, Mode } from "./runMode.ts"
import { ofRun, runOutcome } from "./runOutcome.ts"
import { withDeadline } from "./deadline.ts"
import { identifier, newRun } from "./newRun.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { noteForeignDefects } from "../call/execute/executorDefect.ts"
import { refuseCompensated, registerRunCleanup, runCleanupsAtEnd } from "./compensation/pendingCleanup.ts"
import { endOfEqualRun, noteFailedRun } from "./compose/repeatedRun.ts"
import { afterInterruption, waitsForNobody, writesToCompensate } from "./compensation/compensationScope.ts"
import type { ToCompensate } from "./compensation/compensateWrite.ts"
import { compensateWrites, toCompensate } from "./compensation/compensateRun.ts"
import { endedBody, endedLimits } from "./compensation/endedRun.ts"

const optionally = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : { [key]: value } as { readonly [P in K]?: V }

/** True if a run, or an outer run of it, has ended. */
const hasEnded = (run: Run | undefined): boolean => run !== undefined && (run.nested.hasEnded || hasEnded(run.parent))

/** Runs an agent as a part of the run around it, which waits for it when it ends. */
const partOf = <A, E, R>(
  parent: Run | undefined,
  name: string,
  effect: Effect.Effect<A, E, R>,
  isOver: boolean
): Effect.Effect<A, E, R> =>
  parent === undefined ? effect : Effect.withFiber((fiber) => {
    // Abandoned runs are compensated while the outer runs end.
    if (!isOver && hasEnded(parent)) {
      return Effect.die(
        new ConfigurationError({
          subject: `Agent "${name}"`,
          problem: `it was started within a run of "${parent.path[0]}" that has ended: wait for it before that run ends`
        })
      )
    }
    return Effect.onExitPrimitive(
      Effect.suspend(() => {
        parent.nested.began(fiber)
        return effect
      }),
      (exit) => {
        if (Exit.isFailure(exit)) noteForeignDefects(exit.cause)
        parent.nested.ended(fiber)
        return undefined
      }
    )
  })

/** Ends a run: interrupts and awaits the work that it has started and that still runs. */
const endNested = (run: Run): Effect.Effect<void> => {
  run.nested.end()
  return !run.nested.areRunning ? Effect.void : Effect.callback((resume) => {
    run.nested.end(() => resume(Effect.void))
    run.nested.interrupt()
  })
}

/** One run from its first event to its last. */
class Boundary<Out, E, R, R2> {
  readonly run: Run
  readonly declaration: Limits<R2>
  readonly mode: Mode
  readonly input: unknown
  private readonly body: Body<Out, E, R>
  readonly context: Context.Context<never>
  /** True if its first event was emitted, so that its last one is too. */
  private isReported = false

  constructor(
    declaration: Limits<R2>,
    mode: Mode,
    input: unknown,
    body: Body<Out, E, R>,
    context: Context.Context<R2>
  ) {
    const ambient = this.context = context as Context.Context<never>
    this.declaration = declaration
    this.mode = mode
    this.input = input
    this.body = body
    const parent = Context.get(ambient, CurrentRun)
    const clock = Context.get(ambient, Clock.Clock)
    const id = mode.resumed?.runId ?? parent?.id ?? identifier(declaration.name, mode, ambient)
    const { account, log } = this.run = newRun(declaration, parent, id, mode, context, clock, input)
    if (mode.resumed !== undefined) account.restore(mode.resumed.budget)
    if (parent === undefined && log !== undefined) account.continueAfter(log.elapsedBefore)
  }

  /** Runs the body in the span of the run. */
  effect(): Effect.Effect<Out, E | BudgetExceeded, R> {
    const { declaration: { name }, run } = this
    // An interruption that arrives while the run ends does not hide the reason of its end.
    const reported = Effect.uninterruptibleMask((restore) =>
      Effect.matchCauseEffect(restore(this.begin()), {
        onFailure: (cause) => this.unwindAndEnd(Exit.failCause(cause)),
        onSuccess: (output) => this.unwindAndEnd(Exit.succeed(output))
      })
    )
    return inSpan(
      run.start.tracing,
      {
        name: `invoke_agent ${name}`,
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": name,
          "gen_ai.conversation.id": run.id
        }
      },
      partOf(run.parent, name, reported, run.start.isOver),
      { services: (context) => Context.add(context, CurrentRun, run) }
    )
  }

  private begin(): Effect.Effect<Out, E | BudgetExceeded, R> {
    const { body, run, run: { account } } = this
    return Effect.flatMapEager(
      run.audience === undefined ? Effect.void : emit(run, () => {
        this.isReported = true
        const resumed = this.mode.resumed !== undefined || run.log?.isReplay === true
        const limits = run.audience?.details === true ? { ...account.limits } : undefined
        const start = { resumed, ...optionally("limits", limits), ...optionally("input", this.input) }
        return run.parent === undefined ? { _tag: "RunStarted", version, ...start } : { _tag: "AgentStarted", ...start }
      }),
      () =>
        Effect.flatMapEager(
          run.parent?.nested.cleanups === undefined ? Effect.void : runCleanupsBefore(run, run.parent),
          () => {
            const required = run.parent === undefined ? Effect.void : account.requireLevel()
            return Effect.flatMapEager(required, () => {
              const effect = Effect.contextWith((context: Context.Context<never>) => body.run(run, context))
              return account.limits.duration === undefined ? effect : withDeadline(effect, account)
            })
          }
        )
    )
  }

  /** Compensates the run's writes, if its end demands it; then ends it. */
  private unwindAndEnd(ended: Exit.Exit<Out, E | BudgetExceeded>): Effect.Effect<Out, E | BudgetExceeded> {
    const { declaration: { compensates }, run, run: { writes: { completed } } } = this
    if (this.mode.ended !== undefined) return this.end(ended)
    const isOutermost = run.parent === undefined || this.mode.over !== undefined
    const exit = run.log === undefined
      ? ended
      : isOutermost && waitsForNobody(run, ended)
      ? Exit.interrupt()
      : refuseCompensated(run, ended)
    if (compensates === undefined) return this.end(exit)
    if (Exit.isFailure(exit)) {
      recallDone(run)
      completed!.noteRunning()
    }
    return toCompensate(run, false).length === 0 ? this.end(exit) : this.compensateWrites(compensates, exit)
  }

  private compensateWrites(
    compensates: NonNullable<Limits<R2>["compensates"]>,
    exit: Exit.Exit<Out, E | BudgetExceeded>
  ): Effect.Effect<Out, E | BudgetExceeded> {
    const { body, context, mode, run } = this
    // An inner run that waits lets its siblings end: it is compensated, and the run around it ends.
    const over = waitsForNobody(run, exit) ? Exit.interrupt() : exit
    const which = writesToCompensate(compensates, run, mode.resumed, over)
    const onCompensated: ToCompensate["onCompensated"] = (write, mark) => body.onCompensated?.(write, mark)
    const unwinds = { run, compensates, ambient: context, isBehind: mode.over !== undefined, onCompensated }
    if (which === undefined) {
      const interrupted = run.log && afterInterruption(run, mode.resumed, exit)
      // The run around it continues or ends without it, or the execution ends. Only that run knows which.
      if (interrupted === "continues" || interrupted === "over") registerRunCleanup(unwinds, mode)
      return this.end(exit)
    }
    // No inner run is active any more.
    const compensation = Effect.flatMapEager(endNested(run), () => compensateWrites(unwinds, which === "revoked"))
    return Effect.flatMap(
      compensation,
      (broken) => this.end(Exit.isFailure(exit) || broken === undefined ? exit : Exit.failCause(broken))
    )
  }

  private end(exited: Exit.Exit<Out, E | BudgetExceeded>): Effect.Effect<Out, E | BudgetExceeded> {
    const { body, context, mode, run } = this
    const exit = Exit.isSuccess(exited) ? exited : this.asEnded(exited.cause)
    const pause = Exit.isSuccess(exit) && exit.value instanceof Pause ? exit.value : undefined
    // Others have no snapshot with which a later run continues.
    if (pause !== undefined || Exit.isFailure(exit) || mode.onRecord !== undefined) run.account.noteElapsed()
    if (pause !== undefined) body.onPaused?.(pause, () => this.record())
    if (run.parent !== undefined) passTaint(run, run.parent, Context.getOrUndefined(context, ToolCall))
    body.onEnded?.()
    mode.onRecord?.(() => this.record())
    return Effect.flatMapEager(
      endNested(run),
      () =>
        Exit.isSuccess(exit)
          ? Effect.flatMapEager(this.cleanups(exit), () => Effect.flatMapEager(this.finished(exit), () => exit))
          : this.fail(exit)
    )
  }

  private cleanups(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    return this.run.nested.cleanups === undefined ? Effect.void : runCleanupsAtEnd(this.run, this.mode, exit)
  }

  private fail(exit: Exit.Failure<never, E | BudgetExceeded>): Effect.Effect<never, E | BudgetExceeded> {
    return Effect.flatMapEager(
      this.body.onFailed?.() ?? Effect.void,
      () =>
        Effect.flatMapEager(
          this.unheard(exit),
          () =>
            Effect.flatMapEager(this.cleanups(exit), () => {
              noteFailedRun(this, exit)
              return Effect.flatMapEager(
                this.finished(exit),
                () => Effect.flatMapEager(this.noteInterruption(exit), () => exit)
              )
            })
        )
    )
  }

  /** An interrupted run has its record also if children of its fiber take time to end. */
  private noteInterruption({ cause }: Exit.Failure<never, unknown>): Effect.Effect<void> {
    return this.run.parent === undefined && Cause.hasInterrupts(cause)
      ? annotateInterruption(Context.make(Annotation, this.record()))
      : Effect.void
  }

  /** No caller receives the snapshots of waiting inner agents if the run is interrupted or dies. */
  private unheard({ cause }: Exit.Failure<never, unknown>): Effect.Effect<void> {
    return cause.reasons.some(Cause.isFailReason)
      ? Effect.void
      : Effect.forEach(this.run.nested.questions, (withdraw) => withdraw, { discard: true })
  }

  /** In place of the stop that only this boundary knows, its error; with the record. */
  private asEnded(cause: Cause.Cause<E | BudgetExceeded>): Exit.Exit<never, E | BudgetExceeded> {
    const { declaration, run } = this
    const stop = stopOf(cause, run.account)
    const why = stop === undefined ? cause : Cause.fail(stop.error)
    const recorded = Cause.annotate(why, Context.make(Annotation, this.record()), { overwrite: true })
    return Exit.failCause(
      run.parent === undefined ? ofRun(recorded, `run ${run.id} of agent "${declaration.name}"`) : recorded
    )
  }

  private finished(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    const { context, run } = this
    return !this.isReported ? Effect.void : emit(run, () => {
      const outcome = runOutcome(exit, run.id, context)
      const why = Exit.isFailure(exit) && outcome.outcome === "failure" ? operatorMessage(run, exit.cause) : undefined
      const end = { ...outcome, ...why, usage: { ...run.counts.usage } }
      return run.parent === undefined
        ? { _tag: "RunFinished", ...end, ...this.said() }
        : { _tag: "AgentFinished", ...end }
    })
  }

  /** The conversation at the end, and its compacted replacement. */
  private said() {
    const { compacted, replacedInput, transcript } = this.body.said(this.run, this.context)
    return { transcript, ...optionally("compacted", compacted), ...optionally("replacedInput", replacedInput) }
  }

  private record(): RunRecord {
    const { body, declaration, run } = this
    return {
      runId: run.id,
      agent: declaration.name,
      ...this.said(),
      taintedBy: [...run.reading.taintedBy],
      usage: { ...run.counts.usage },
      executed: run.counts.executed.map((call) => ({ ...call })),
      ...optionally("compensations", run.writes.compensations.length === 0 ? undefined : [...run.writes.compensations]),
      ...optionally("resumable", body.resumable?.(run))
    }
  }
}

/** Runs the body of an agent within its boundary, in a context that the caller has read. An equal run that has written ends it. */
export const withinLimits = <Out, E, R, R2>(
  context: Context.Context<R2>,
  declaration: Limits<R2>,
  mode: Mode,
  input: unknown,
  body: Body<Out, E, R>
): Effect.Effect<Out, E | BudgetExceeded, R | R2> => {
  if (mode.ended !== undefined) {
    const limits = endedLimits(declaration, mode.ended)
    return new Boundary(limits, mode, input, endedBody(limits.compensates, mode.ended), context)
      .effect() as Effect.Effect<Out>
  }
  const ambient = context as Context.Context<never>
  const parent = Context.get(ambient, CurrentRun)
  const end = parent?.nested.hasFailures === true
    ? endOfEqualRun({ declaration, mode, input, context: ambient }, parent)
    : undefined
  return end as Exit.Exit<never, E> | undefined ?? new Boundary(declaration, mode, input, body, context).effect()
}
