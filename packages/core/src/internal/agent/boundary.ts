/** The edge of one agent's run: its account, its deadline, its span, its first and last event, its record. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Prompt from "effect/ai/Prompt"
import { CurrentListener, type Listener } from "../../AgentEvent.ts"
import type { BudgetExceeded, Extension, Kind } from "../../Budget.ts"
import type { Checkpoint } from "../approval/snapshot.ts"
import { Annotation, type ExecutedCall, type RunRecord, type RunUsage, type SnapshotSource } from "../run/record.ts"
import { type Call, ToolCall } from "../call/call.ts"
import { Account, stopOf } from "../run/account.ts"
import { Pause } from "../loop/pause.ts"
import { after, before } from "../foundation/sequence.ts"
import { CurrentRun, emit, type Run } from "../run/run.ts"
import { errorName, inSpan } from "../run/span.ts"

/** How an agent is run. */
export interface Mode {
  readonly streaming: boolean
  /** Hears every event, besides whoever listens to the context. */
  readonly listener?: Listener | undefined
  /** Is told how to get the record when the run ends, however it ends. */
  readonly onRecord?: ((record: () => RunRecord) => void) | undefined
  /** Is told when the run has begun: from then on it tells itself what becomes of its calls. */
  readonly onBegun?: (() => void) | undefined
  /** The run that this one goes on with. */
  readonly resumed?: Checkpoint | undefined
  /** Where the run stands in the agent that runs it, if that says so. Left out: runs are told apart as they begin. */
  readonly position?: number | undefined
}

export const plain: Mode = { streaming: false }

/** What the boundary has to know about an agent. */
export interface Limits<R> {
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

/**
 * Tells the calls of a nested run from those of every other one: the runs and calls that it is nested in, its agent, and
 * which run of that agent it is there. The same when the run goes on, and in each attempt of the call that it is nested in:
 * an attempt stands in the place of the one before, so that a write of theirs with a default key is one write.
 */
const scopeWithin = (parent: Run, call: Call | undefined, name: string, position: number | undefined): string => {
  const within = call?.identity ?? call?.id ?? ""
  // Lengths, so that no two places have the same text, whatever agents and calls are named.
  const place = `${parent.scope}/${within.length}:${within}/${name.length}:${name}`
  if (position !== undefined) return `${place}@${position}`
  const counted = `${call?.attempt ?? 0}/${place}`
  const nth = (parent.nested.get(counted) ?? 0) + 1
  parent.nested.set(counted, nth)
  return `${place}#${nth}`
}

const makeRun = <R>(
  declaration: Limits<R>,
  parent: Run | undefined,
  id: string,
  mode: Mode,
  listener: Listener | undefined,
  context: Context.Context<R>,
  clock: Clock.Clock,
  within: Call | undefined
): Run => {
  const { caps, name, onExceeded, thresholds } = declaration
  const run: Run = {
    id,
    path: parent === undefined ? [name] : [...parent.path, name],
    scope: mode.resumed?.scope ?? (parent === undefined ? id : scopeWithin(parent, within, name, mode.position)),
    nested: new Map(),
    clock,
    hidden: new Map(Object.entries(mode.resumed?.hidden ?? {})),
    listener: both(parent === undefined ? listener : parent.listener, mode.listener),
    streaming: mode.streaming || parent?.streaming === true,
    usage: { ...noUsage, ...mode.resumed?.usage },
    executed: [...(mode.resumed?.executed ?? []) as unknown as ReadonlyArray<ExecutedCall>],
    taintedBy: parent?.taintedBy ?? [...mode.resumed?.taintedBy ?? []],
    parent,
    account: new Account(
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
      parent?.account
    )
  }
  return run
}

const identifier = (context: Context.Context<never>): string => {
  const random = Context.get(context, Random.Random)
  const part = () => random.nextDoubleUnsafe().toString(36).slice(2, 10)
  return `run_${part()}${part()}`
}

/** Ends what runs when the time is up; asks for more time first, if there is somebody to ask. */
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
const runOutcome = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isSuccess(exit)
    ? exit.value instanceof Pause
      ? { outcome: "paused" as const }
      : { outcome: "success" as const, output: exit.value }
    : Exit.hasInterrupts(exit) && !exit.cause.reasons.some(Cause.isFailReason)
    ? { outcome: "interrupted" as const }
    : { outcome: "failure" as const, error: errorName(exit.cause) }

/** Runs the body of an agent within its boundary. `transcript` is asked for at the end, if somebody wants the record. */
export const withinLimits = <Out, E, R, R2>(
  declaration: Limits<R2>,
  mode: Mode,
  input: unknown,
  transcript: () => Prompt.Prompt,
  body: (run: Run) => Effect.Effect<Out, E, R>,
  resumable?: (run: Run) => SnapshotSource | undefined
): Effect.Effect<Out, E | BudgetExceeded, R | R2> =>
  Effect.contextWith((context: Context.Context<R2>) => {
    const ambient = context as Context.Context<never>
    const parent = Context.get(ambient, CurrentRun)
    const clock = Context.get(ambient, Clock.Clock)
    const id = mode.resumed?.runId ?? parent?.id ?? identifier(ambient)
    const run = makeRun(
      declaration,
      parent,
      id,
      mode,
      Context.get(ambient, CurrentListener),
      context,
      clock,
      Option.getOrUndefined(Context.getOption(ambient, ToolCall))
    )
    const { account } = run
    if (mode.resumed !== undefined) account.restore(mode.resumed.budget)
    const start = clock.currentTimeMillisUnsafe() - account.elapsedBefore
    const record = (): RunRecord => ({
      runId: id,
      agent: declaration.name,
      transcript: transcript(),
      usage: { ...run.usage },
      executed: run.executed.map((call) => ({ ...call })),
      ...optionally("resumable", resumable?.(run))
    })
    const root = parent === undefined
    const begun = before(
      emit(run, () => ({ _tag: root ? "RunStarted" : "AgentStarted", input })),
      () => withDeadline(Effect.suspend(() => body(run)), account)
    )
    const stopClock = () => account.elapsed(clock.currentTimeMillisUnsafe() - start)
    const annotated = Effect.catchCause(begun, (cause): Effect.Effect<never, E | BudgetExceeded> => {
      stopClock()
      const stop = stopOf(cause, account)
      const why: Cause.Cause<E | BudgetExceeded> = stop === undefined ? cause : Cause.fail(stop.error)
      return Effect.failCause(Cause.annotate(why, Context.make(Annotation, record()), { overwrite: true }))
    })
    const reported = after(annotated, (exit) => {
      stopClock()
      mode.onRecord?.(record)
      return emit(run, () => ({ _tag: root ? "RunFinished" : "AgentFinished", ...runOutcome(exit) }))
    })
    return inSpan(
      clock,
      `invoke_agent ${declaration.name}`,
      {
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": declaration.name,
          "gen_ai.conversation.id": id
        }
      },
      reported,
      { services: (context) => Context.add(context, CurrentRun, run) }
    )
  })
