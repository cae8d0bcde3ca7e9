/**
 * Run boundary: opens and closes one agent's run. Holds its account, deadline, span, first and last event, and record.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Prompt from "effect/ai/Prompt"
import { version } from "../../AgentEventSchema.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { type BudgetExceeded, type Caps, Defaults, type Extension } from "../../Budget.ts"
import { CurrentJournal, type Journal } from "../../Journal.ts"
import type { Checkpoint } from "../approval/snapshot.ts"
import { Annotation, type ExecutedCall, type RunRecord, type RunUsage, type SnapshotSource } from "../run/record.ts"
import { ExecutionError } from "../../ToolError.ts"
import { ApprovalRequired, DecisionRefused, SnapshotRefused } from "../approval/outcome.ts"
import { type Call, ToolCall } from "../call/call.ts"
import { CallStopped } from "../call/gate.ts"
import { noteRead, rootOf } from "../call/record.ts"
import { Account, stopOf } from "../run/account.ts"
import { Pause } from "../loop/pause.ts"
import type { Compensates } from "./compensationOptions.ts"
import { HandedOff } from "./handedOff.ts"
import { unwind } from "./unwind.ts"
import { isInterruption, signalOf } from "../foundation/signal.ts"
import { type DoneWrite, DoneWrites } from "../run/doneWrites.ts"
import { randomIdIn } from "../foundation/digest.ts"
import { before } from "../foundation/sequence.ts"
import { operatorMessage, summaryOf } from "../run/failure.ts"
import { audienceOf, type Ear } from "../run/listeners.ts"
import { addTaint, CurrentRun, emit, type Run } from "../run/run.ts"
import { NestedRuns } from "../run/nestedRuns.ts"
import { inSpan } from "../run/span.ts"
import { tracingOf } from "../run/tracing.ts"
import { callAround, endNested, nestedId, outOfRun, partOf, placeWithin, scopeWithin } from "./nesting.ts"

/** How an agent is run. */
export interface Mode {
  readonly streaming: boolean
  /** The id of the run, if the program has one for it. */
  readonly runId?: string | undefined
  /** Hears every event, besides the listeners of the context. */
  readonly ear?: Ear | undefined
  /** Is told how to get the record when the run ends, however it ends. */
  readonly onRecord?: ((record: () => RunRecord) => void) | undefined
  /** Called when the run has begun: from then on the run itself announces the outcome of its calls. */
  readonly onBegun?: (() => void) | undefined
  /** Is given, when the run begins, what calls off the questions that it may be waiting for by then. */
  readonly onQuestions?: ((withdraw: Effect.Effect<void>) => void) | undefined
  /** Done before the end of a run that failed, or was interrupted, is told. */
  readonly onFailed?: (() => Effect.Effect<void>) | undefined
  /** Whether it can be answered that the run waits: as a value of `start` and `resume`, and to a run around it that can wait. */
  readonly mayPause?: boolean | undefined
  /** The run that this one goes on with. */
  readonly resumed?: Checkpoint | undefined
  /** Where the run stands in the agent that runs it, if that says so. Left out: runs are told apart as they begin. */
  readonly position?: number | undefined
}

export const plain: Mode = { streaming: false }

/** What the boundary has to know about an agent. */
export interface Limits<R> {
  readonly name: string
  readonly caps: Caps
  readonly thresholds: ReadonlyArray<number> | undefined
  /** Whether the agent has a model: then it is a level, and has the caps of the program that it does not say itself. */
  readonly isLevel: boolean
  readonly onExceeded: ((error: BudgetExceeded) => Effect.Effect<Extension | undefined, never, R>) | undefined
  /** When and how what the run has done is undone, if it is. */
  readonly compensates?: Compensates | undefined
}

export const noUsage: RunUsage = {
  turns: 0,
  toolCalls: 0,
  retries: 0,
  fixes: 0,
  transportRetries: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cost: 0
}

/** Caps that end something. */
const finite = (caps: Caps): Caps => {
  const left: { -readonly [K in keyof Caps]: Caps[K] } = {}
  for (const kind in caps) {
    const cap = caps[kind as keyof Caps]
    if (cap !== undefined && cap !== Infinity) left[kind as keyof Caps] = cap
  }
  return left
}

/** The journal of a run: of the outermost one the context's, if it is that run's. */
const journalOf = (parent: Run | undefined, id: string, context: Context.Context<never>): Journal | undefined => {
  if (parent !== undefined) return parent.journal
  const journal = Context.get(context, CurrentJournal)
  return journal?.runId === id ? journal : undefined
}

/** What a run is tainted by that begins. A list of its own: what it reads, the runs around it read with its answer. */
const taintOf = (parent: Run | undefined, call: Call | undefined, resumed: Checkpoint | undefined): Array<string> => {
  const taintedBy: Array<string> = []
  if (parent !== undefined) addTaint(taintedBy, parent.taintedBy)
  if (call !== undefined) addTaint(taintedBy, rootOf(call.record).read ?? [])
  if (resumed !== undefined) addTaint(taintedBy, resumed.taintedBy)
  return taintedBy
}

const makeRun = <R>(
  declaration: Limits<R>,
  parent: Run | undefined,
  id: string,
  mode: Mode,
  context: Context.Context<R>,
  clock: Clock.Clock
): Run => {
  const { caps, isLevel, name, onExceeded, thresholds } = declaration
  const ambient = context as Context.Context<never>
  const defaults = isLevel ? Context.get(ambient, Defaults) : undefined
  const call = Context.getOrUndefined(ambient, ToolCall)
  const withinCall = callAround(call, parent)
  const journal = journalOf(parent, id, ambient)
  const run: Run = {
    id,
    agentRunId: parent === undefined ? id : nestedId(parent, name, withinCall),
    withinCall,
    path: parent === undefined ? [name] : [...parent.path, name],
    scope: mode.resumed?.scope ?? (parent === undefined ? id : scopeWithin(parent, call, name, mode.position)),
    journal,
    place: parent === undefined || journal === undefined ? "" : placeWithin(parent, call, name, mode.position),
    tally: undefined,
    nested: new NestedRuns(),
    clock,
    tracing: tracingOf(ambient),
    hidden: new Map(mode.resumed === undefined ? undefined : Object.entries(mode.resumed.hidden)),
    audience: audienceOf(parent?.audience, ambient, mode.ear, outOfRun),
    streaming: mode.streaming || parent?.streaming === true,
    usage: { ...noUsage, ...mode.resumed?.usage },
    executed: mode.resumed === undefined ? [] : [...mode.resumed.executed as unknown as ReadonlyArray<ExecutedCall>],
    admitted: parent?.admitted ?? { version: 0, calls: new Map() },
    taintedBy: taintOf(parent, withinCall === undefined ? undefined : call, mode.resumed),
    mayPause: mode.mayPause === true,
    parent,
    questions: [],
    requested: [],
    done: doneWritesOf(declaration, parent, mode.resumed),
    compensations: [],
    ended: undefined,
    account: new Account(
      name,
      finite(defaults === undefined ? caps : { ...defaults.caps, ...caps }),
      thresholds ?? defaults?.thresholds ?? [],
      {
        onThreshold: (budget, threshold, used, limit) =>
          emit(run, () => ({ _tag: "BudgetThreshold", agent: name, budget, threshold, used, limit })),
        onExtended: (budget, limit) => emit(run, () => ({ _tag: "BudgetExtended", agent: name, budget, limit })),
        onExceeded: onExceeded === undefined
          ? undefined
          : (error) => Effect.provideContext(onExceeded(error), context)
      },
      parent?.account,
      isLevel
    )
  }
  return run
}

/** The log of what a run does that can be undone, if somebody may undo it. */
const doneWritesOf = (
  { compensates }: Pick<Limits<never>, "compensates">,
  parent: Run | undefined,
  resumed: Checkpoint | undefined
): DoneWrites | undefined =>
  compensates === undefined && parent?.done === undefined ? undefined : new DoneWrites(
    compensates?.after.has("rejection") === true || parent?.done?.undoesWhenRejected === true,
    parent?.done,
    (resumed?.done ?? []) as ReadonlyArray<unknown> as ReadonlyArray<DoneWrite>
  )

/** Whether a run has failed for good: nobody goes on with it, and it has given nothing away. */
const hasFailed = (cause: Cause.Cause<unknown>): boolean => {
  const error = cause.reasons.find(Cause.isFailReason)?.error
  const given = error instanceof ExecutionError ? error.reason : error
  return ![ApprovalRequired, HandedOff, SnapshotRefused, DecisionRefused].some((one) => given instanceof one)
}

/** Which writes of a run that ends so are to be undone. */
const undoneAfter = (
  { after }: Compensates,
  run: Run,
  resumed: Checkpoint | undefined,
  exit: Exit.Exit<unknown, unknown>
): "all" | "revoked" | undefined => {
  if (Exit.isSuccess(exit)) return exit.value instanceof Pause || !after.has("rejection") ? undefined : "revoked"
  const { reasons } = exit.cause
  // A call within it waits, or may not run: the run is made again, or its call says what it came to.
  if (reasons.some((reason) => signalOf(reason) instanceof CallStopped)) return undefined
  const isInterrupted = reasons.every(isInterruption)
  if (isInterrupted && run.journal !== undefined && run.journal.isCancelled?.() !== true) return undefined
  // Its snapshot is given back: another resumption goes on with it.
  const hasRun = resumed === undefined || run.executed.length > resumed.executed.length
  if (isInterrupted && run.journal === undefined && !hasRun) return undefined
  return after.has(isInterrupted ? "interruption" : "failure") && hasFailed(exit.cause)
    ? "all"
    : after.has("rejection")
    ? "revoked"
    : undefined
}

/** Passes the taint of a nested run on to the reader of its answer: the call that it ran within, or the run around it. */
const tellTaint = ({ parent, taintedBy, withinCall }: Run, call: Call | undefined): void => {
  if (withinCall !== undefined && call !== undefined) noteRead(call.record, taintedBy)
  else if (parent !== undefined) addTaint(parent.taintedBy, taintedBy)
}

/** The id of a run that nobody gave one. Not of `Random`, whose seed may be another run's too. */
const identifier = (agent: string, { runId }: Mode, context: Context.Context<never>): string => {
  if (runId === "") throw new ConfigurationError({ subject: `Agent "${agent}"`, problem: "a run id is not empty" })
  return runId ?? `run_${randomIdIn(context).replaceAll("-", "")}`
}

/** Interrupts the run at its deadline; calls `onBudgetExceeded` first, if there is one. */
const withDeadline = <A, E, R>(effect: Effect.Effect<A, E, R>, account: Account): Effect.Effect<A, E, R> => {
  if (account.duration === undefined) return effect
  const timer = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const start = now - account.elapsedBefore
    const wait: Effect.Effect<never> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const elapsed = now - start
      const left = (account.duration ?? 0) - elapsed
      return Effect.flatMap(left > 0 ? Effect.sleep(left) : account.outOfTime(elapsed), () => wait)
    })
    return wait
  })
  return Effect.raceFirst(effect, timer)
}

const optionally = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : { [key]: value } as { readonly [P in K]?: V }

/** How a run ended, for its last event. */
const runOutcome = (exit: Exit.Exit<unknown, unknown>, runId: string, context: Context.Context<never>) =>
  Exit.isSuccess(exit)
    ? exit.value instanceof Pause
      ? { outcome: "paused" as const, pending: exit.value.pending }
      : { outcome: "success" as const, output: exit.value }
    : Exit.hasInterrupts(exit) && !exit.cause.reasons.some(Cause.isFailReason)
    ? { outcome: "interrupted" as const }
    : { outcome: "failure" as const, ...summaryOf(exit.cause, runId, context) }

/** What runs within a boundary. */
export interface Body<Out, E, R> {
  readonly run: (run: Run) => Effect.Effect<Out, E, R>
  /** Called at the end, where the record is needed. */
  readonly transcript: () => Prompt.Prompt
  readonly resumable?: (run: Run) => SnapshotSource | undefined
  /** Called for each write of the run that is undone when it ends. */
  readonly onUndone?: (write: DoneWrite) => void
  /** Adds what the body needs in its context besides the run. */
  readonly services?: (context: Context.Context<never>, run: Run) => Context.Context<never>
}

/** Says of a cause which run it ended, above the places that effect knows: `Cause.pretty` and `runMain` print it. */
const ofRun = <E>(cause: Cause.Cause<E>, name: string): Cause.Cause<E> =>
  Cause.fromReasons(cause.reasons.map((reason) => {
    if (Cause.isInterruptReason(reason)) return reason
    const parent = Context.getOrUndefined(Cause.reasonAnnotations(reason), Cause.StackTrace)
    const frame = { name, stack: () => undefined, parent }
    return reason.annotate(Context.make(Cause.StackTrace, frame), { overwrite: true })
  }))

/** Runs the body of an agent within its boundary. */
export const withinLimits = <Out, E, R, R2>(
  declaration: Limits<R2>,
  mode: Mode,
  input: unknown,
  { onUndone, resumable, run: body, services, transcript }: Body<Out, E, R>
): Effect.Effect<Out, E | BudgetExceeded, R | R2> =>
  Effect.contextWith((context: Context.Context<R2>) => {
    const ambient = context as Context.Context<never>
    const parent = Context.get(ambient, CurrentRun)
    const clock = Context.get(ambient, Clock.Clock)
    const id = mode.resumed?.runId ?? parent?.id ?? identifier(declaration.name, mode, ambient)
    const run = makeRun(
      declaration,
      parent,
      id,
      mode,
      context,
      clock
    )
    const { account } = run
    if (mode.resumed !== undefined) account.restore(mode.resumed.budget)
    if (parent === undefined && run.journal !== undefined) {
      account.elapsed(account.elapsedBefore + run.journal.elapsedBefore)
    }
    const start = clock.currentTimeMillisUnsafe() - account.elapsedBefore
    account.begin(start)
    const record = (): RunRecord => ({
      runId: id,
      agent: declaration.name,
      transcript: transcript(),
      taintedBy: [...run.taintedBy],
      usage: { ...run.usage },
      executed: run.executed.map((call) => ({ ...call })),
      ...optionally("compensations", run.compensations.length === 0 ? undefined : [...run.compensations]),
      ...optionally("resumable", resumable?.(run))
    })
    const root = parent === undefined
    let isTold = false
    const begun = before(
      emit(run, () => {
        isTold = true
        const resumed = mode.resumed !== undefined || run.journal?.isResumed === true
        const limits = run.audience?.details === true ? account.caps : undefined
        const start = { resumed, ...optionally("limits", limits), ...optionally("input", input) }
        return root ? { _tag: "RunStarted", version, ...start } : { _tag: "AgentStarted", ...start }
      }),
      () => before(account.requireLevel(), () => withDeadline(Effect.suspend(() => body(run)), account))
    )
    const finished = (exit: Exit.Exit<unknown, unknown>) =>
      emit(run, () => {
        const outcome = runOutcome(exit, id, ambient)
        const why = Exit.isFailure(exit) && outcome.outcome === "failure" ? operatorMessage(run, exit.cause) : undefined
        const end = { ...outcome, ...why, usage: { ...run.usage } }
        return root
          ? { _tag: "RunFinished", ...end, transcript: transcript() }
          : { _tag: "AgentFinished", ...end }
      })
    /** Nobody gets the snapshots of agents within that ask, where the run is interrupted or dies. */
    const unheard = (exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
      run.questions.length > 0 && Exit.isFailure(exit) && !exit.cause.reasons.some(Cause.isFailReason)
        ? Effect.forEach(run.questions, (withdraw) => withdraw, { discard: true })
        : Effect.void
    const stopClock = () => account.elapsed(clock.currentTimeMillisUnsafe() - start)
    /** In place of the stop that only this boundary knows, its error; with the record. */
    const asEnded = (exit: Exit.Exit<Out, E>): Exit.Exit<Out, E | BudgetExceeded> => {
      if (Exit.isSuccess(exit)) return exit
      const stop = stopOf(exit.cause, account)
      const why: Cause.Cause<E | BudgetExceeded> = stop === undefined ? exit.cause : Cause.fail(stop.error)
      const recorded = Cause.annotate(why, Context.make(Annotation, record()), { overwrite: true })
      return Exit.failCause(root ? ofRun(recorded, `run ${id} of agent "${declaration.name}"`) : recorded)
    }
    /** Undoes what the run has done, where it ends so that this is to be; then ends it. */
    const unwound = (exit: Exit.Exit<Out, E>): Effect.Effect<Out, E | BudgetExceeded> => {
      const { compensates } = declaration
      const which = compensates === undefined || run.done === undefined || run.done.size === 0
        ? undefined
        : undoneAfter(compensates, run, mode.resumed, exit)
      if (compensates === undefined || which === undefined) return end(exit)
      const over = { run, compensates, ambient, onUndone: (write: DoneWrite) => onUndone?.(write) }
      // Nothing that runs within is at work any more.
      const undone = before(endNested(run), () => unwind(over, which === "revoked"))
      return Effect.flatMap(undone, (broken) =>
        end(Exit.isFailure(exit) || broken === undefined ? exit : Exit.failCause(broken)))
    }
    const end = (exited: Exit.Exit<Out, E>): Effect.Effect<Out, E | BudgetExceeded> => {
      stopClock()
      const exit = asEnded(exited)
      tellTaint(run, Context.getOrUndefined(ambient, ToolCall))
      mode.onRecord?.(record)
      const withdrawn = Exit.isFailure(exit)
        ? before(mode.onFailed?.() ?? Effect.void, () =>
          unheard(exit))
        : Effect.void
      return before(
        endNested(run),
        () => before(withdrawn, () => before(isTold ? finished(exit) : Effect.void, () => exit))
      )
    }
    // An interruption that comes while the run ends does not hide what ended it.
    const reported = Effect.uninterruptibleMask((restore) =>
      Effect.matchCauseEffect(restore(begun), {
        onFailure: (cause) => unwound(Exit.failCause(cause)),
        onSuccess: (output) => unwound(Exit.succeed(output))
      })
    )
    return inSpan(
      run.tracing,
      {
        name: `invoke_agent ${declaration.name}`,
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": declaration.name,
          "gen_ai.conversation.id": id
        }
      },
      partOf(parent, declaration.name, reported),
      {
        services: (context) => Context.add(services === undefined ? context : services(context, run), CurrentRun, run)
      }
    )
  })
