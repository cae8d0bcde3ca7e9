/** The edge of one agent's run: its account, its deadline, its span, its first and last event, its record. */
import { Cause, Clock, Context, Effect, Exit, Option, Random } from "effect"
import type { Prompt } from "effect/ai"
import { CurrentListener, type Listener } from "../AgentEvent.ts"
import type { BudgetExceeded, Extension, Kind } from "../Budget.ts"
import type { Checkpoint } from "../Approval.ts"
import { tagOf } from "../recovery/tags.ts"
import { Annotation, type ExecutedCall, type Resumable, type RunRecord, type RunUsage } from "../RunRecord.ts"
import { ToolCall } from "../ToolCall.ts"
import { Ledger, stopOf } from "./ledger.ts"
import { Pause } from "./pause.ts"
import { before, CurrentRun, emit, type Run } from "./run.ts"
import { inSpan } from "./span.ts"

/** How an agent is run. */
export interface Mode {
  readonly streaming: boolean
  /** Hears every event, besides whoever listens to the context. */
  readonly listener?: Listener | undefined
  /** Is given the record when the run ends, however it ends. */
  readonly onRecord?: ((record: RunRecord) => void) | undefined
  /** The run that this one goes on with. */
  readonly resumed?: Checkpoint | undefined
}

export const plain: Mode = { streaming: false }

/** What the boundary has to know about an agent. */
export interface Declaration<R> {
  readonly name: string
  readonly caps: Readonly<Partial<Record<Kind, number>>>
  readonly thresholds: ReadonlyArray<number>
  readonly onExceeded: ((error: BudgetExceeded) => Effect.Effect<Extension | undefined, never, R>) | undefined
}

const noUsage: RunUsage = {
  turns: 0,
  toolCalls: 0,
  retries: 0,
  fixes: 0,
  transportRetries: 0,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0
}

const both = (first: Listener | undefined, second: Listener | undefined): Listener | undefined =>
  first === undefined || second === undefined
    ? first ?? second
    : (event) => Effect.andThen(first(event), second(event))

const makeRun = <R>(
  declaration: Declaration<R>,
  parent: Run | undefined,
  id: string,
  mode: Mode,
  listener: Listener | undefined,
  context: Context.Context<R>,
  within: string
): Run => {
  const { caps, name, onExceeded, thresholds } = declaration
  const run: Run = {
    id,
    path: parent === undefined ? [name] : [...parent.path, name],
    scope: parent === undefined ? id : `${parent.scope}/${within}/${name}`,
    hidden: new Map(Object.entries(mode.resumed?.hidden ?? {})),
    listener: both(parent === undefined ? listener : parent.listener, mode.listener),
    streaming: mode.streaming || parent?.streaming === true,
    usage: { ...noUsage, ...mode.resumed?.usage },
    executed: [...(mode.resumed?.executed ?? []) as unknown as ReadonlyArray<ExecutedCall>],
    taintedBy: parent?.taintedBy ?? [...mode.resumed?.taintedBy ?? []],
    parent,
    ledger: new Ledger(
      name,
      caps,
      thresholds,
      {
        onThreshold: (budget, threshold, used, limit) =>
          emit(run, () => ({ _tag: "BudgetThreshold", agent: name, budget, threshold, used, limit })),
        onExtended: (budget, limit) => emit(run, () => ({ _tag: "BudgetExtended", agent: name, budget, limit })),
        onExceeded: onExceeded === undefined
          ? undefined
          : (error) => Effect.provideContext(onExceeded(error), context)
      },
      parent?.ledger
    )
  }
  return run
}

const identifier = Effect.map(
  Effect.all([Random.next, Random.next]),
  (parts) => `run_${parts.map((part) => part.toString(36).slice(2, 10)).join("")}`
)

/** Ends what runs when the time is up; asks for more time first, if there is somebody to ask. */
const withDeadline = <A, E, R>(effect: Effect.Effect<A, E, R>, ledger: Ledger): Effect.Effect<A, E, R> => {
  if (ledger.duration === undefined) return effect
  const timer = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const start = now - ledger.elapsedBefore
    const wait: Effect.Effect<never> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const elapsed = now - start
      const left = (ledger.duration ?? 0) - elapsed
      return Effect.flatMap(left > 0 ? Effect.sleep(left) : ledger.outOfTime(elapsed), () => wait)
    })
    return wait
  })
  return Effect.raceFirst(effect, timer)
}

/** The tag of the error in a cause, for events and spans. */
export const errorName = (cause: Cause.Cause<unknown>): string => {
  const fail = cause.reasons.find(Cause.isFailReason)
  if (fail === undefined) return Cause.hasInterruptsOnly(cause) ? "Interrupted" : "Defect"
  return tagOf(fail.error) ?? "Error"
}

const optionally = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : { [key]: value } as { readonly [P in K]?: V }

/** Counts the time that the body runs. */
const clocked = <A, E, R>(body: Effect.Effect<A, E, R>, ledger: Ledger): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) => {
    const start = clock.currentTimeMillisUnsafe() - ledger.elapsedBefore
    return Effect.onExit(body, () => Effect.sync(() => ledger.elapsed(clock.currentTimeMillisUnsafe() - start)))
  })

/** Runs the body of an agent within its boundary. `transcript` is asked for once, at the end. */
export const within = <Out, E, R, R2>(
  declaration: Declaration<R2>,
  mode: Mode,
  input: unknown,
  transcript: () => Prompt.Prompt,
  body: (run: Run) => Effect.Effect<Out, E, R>,
  resumable?: (run: Run) => Resumable | undefined
): Effect.Effect<Out, E | BudgetExceeded, R | R2> =>
  Effect.contextWith((context: Context.Context<R2>) => {
    const parent = Context.get(context as Context.Context<never>, CurrentRun)
    const listener = Context.get(context as Context.Context<never>, CurrentListener)
    const root = parent === undefined
    const known = mode.resumed?.runId ?? parent?.id
    return Effect.flatMap(known === undefined ? identifier : Effect.succeed(known), (id) => {
      const call = Context.getOption(context as Context.Context<never>, ToolCall)
      const run = makeRun(
        declaration,
        parent,
        id,
        mode,
        listener,
        context,
        Option.match(call, { onNone: () => "", onSome: (call) => call.id })
      )
      if (mode.resumed !== undefined) run.ledger.restore(mode.resumed.budget)
      const record = (): RunRecord => ({
        runId: id,
        agent: declaration.name,
        transcript: transcript(),
        usage: { ...run.usage },
        executed: run.executed.map((call) => ({ ...call })),
        ...optionally("resumable", resumable?.(run))
      })
      const finished = (exit: Exit.Exit<Out, unknown>) =>
        emit(run, () => ({
          _tag: root ? "RunFinished" : "AgentFinished",
          ...(Exit.isSuccess(exit) && exit.value instanceof Pause
            ? { outcome: "paused" as const }
            : Exit.isSuccess(exit)
            ? { outcome: "success" as const, output: exit.value }
            : Exit.hasInterrupts(exit) && !exit.cause.reasons.some(Cause.isFailReason)
            ? { outcome: "interrupted" as const }
            : { outcome: "failure" as const, error: errorName(exit.cause) })
        }))
      return before(
        emit(run, () => ({ _tag: root ? "RunStarted" : "AgentStarted", input })),
        clocked(withDeadline(Effect.suspend(() => body(run)), run.ledger), run.ledger)
      ).pipe(
        Effect.catchCause((cause): Effect.Effect<never, E | BudgetExceeded> => {
          const stop = stopOf(cause, run.ledger)
          const ended: Cause.Cause<E | BudgetExceeded> = stop === undefined ? cause : Cause.fail(stop.error)
          return Effect.failCause(Cause.annotate(ended, Context.make(Annotation, record()), { overwrite: true }))
        }),
        Effect.onExit((exit) => {
          mode.onRecord?.(record())
          return finished(exit)
        }),
        Effect.provideService(CurrentRun, run),
        inSpan(`invoke_agent ${declaration.name}`, {
          attributes: {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": declaration.name,
            "gen_ai.conversation.id": id
          }
        })
      )
    })
  })
