/** New run: the first state of a run, also of one that resumes from a snapshot. */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { type Caps, checkExtension, Defaults, type Extension } from "../../Budget.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { CurrentJournal } from "../../Journal.ts"
import type { Checkpoint } from "../approval/snapshot.ts"
import { type Call, ToolCall } from "../call/call.ts"
import { rootOf } from "../call/record/record.ts"
import { randomIdIn } from "../foundation/digest.ts"
import { Account } from "../run/account.ts"
import type { CompensableWrite } from "../run/writes/completedWrites.ts"
import { audienceOf } from "../run/observe/listeners.ts"
import { emit, NestedRuns, type Run } from "../run/run.ts"
import { restoreLedgerAnswers } from "../run/writes/ledgerAnswers.ts"
import { idWithin } from "../path/path.ts"
import * as Path from "../path/path.ts"
import { RunLog } from "../run/runLog.ts"
import { tracingOf } from "../run/observe/span.ts"
import { CurrentWriteLog, type WriteLog } from "../run/writes/writeLog.ts"
import type { Limits, Mode } from "./runMode.ts"
import { callAround, nestedId, outOfRun, placeWithin, scopeWithin } from "./nestedRun.ts"
import { addTaint, newCounts, newFacts } from "../run/state/runState.ts"
import { effectResult } from "../foundation/options/hookResult.ts"

/** Caps that end something. */
const finite = (caps: Caps): Caps => {
  const left: { -readonly [K in keyof Caps]: Caps[K] } = {}
  for (const kind in caps) {
    const cap = caps[kind as keyof Caps]
    if (cap !== Infinity) left[kind as keyof Caps] = cap!
  }
  return left
}

interface Effective {
  readonly defaults: Caps | undefined
  readonly caps: Caps
}

const effective = new WeakMap<Caps, Effective>()

/** The caps of an agent under the program's defaults, worked out once for all of its runs. */
const capsUnder = (defaults: Caps | undefined, own: Caps): Caps => {
  const known = effective.get(own)
  if (known !== undefined && known.defaults === defaults) return known.caps
  const caps = finite({ ...defaults, ...own })
  effective.set(own, { defaults, caps })
  return caps
}

/** The log of a run: of the outermost one that of the context's journal, if it is that run's. */
const logOf = (parent: Run | undefined, id: string, context: Context.Context<never>): RunLog | undefined => {
  if (parent !== undefined) return parent.log
  const journal = Context.get(context, CurrentJournal)
  return journal?.runId === id ? new RunLog(journal) : undefined
}

/** The write log of a run: the run log has all that it would store. */
const writesOf = (
  parent: Run | undefined,
  log: RunLog | undefined,
  context: Context.Context<never>
): WriteLog | undefined =>
  log !== undefined ? undefined : parent === undefined ? Context.get(context, CurrentWriteLog) : parent.writes.log

/** Returns the taints of a new run. A list of its own: outer runs become tainted by its reads with its answer. */
const taintOf = (parent: Run | undefined, call: Call | undefined, resumed: Checkpoint | undefined): Array<string> => {
  const taintedBy: Array<string> = []
  if (parent !== undefined) addTaint(taintedBy, parent.reading.taintedBy)
  if (call !== undefined) addTaint(taintedBy, rootOf(call.record).marks.read ?? [])
  if (resumed !== undefined) addTaint(taintedBy, resumed.taintedBy)
  return taintedBy
}

/** Returns the id of a run without a given one. Not of `Random`, whose seed may be another run's too. */
export const identifier = (agent: string, { runId }: Mode, context: Context.Context<never>): string => {
  if (runId === "") throw new ConfigurationError({ subject: `Agent "${agent}"`, problem: "a run id is not empty" })
  return runId ?? `run_${randomIdIn(context)}`
}

/** The writes of a snapshot that a run around its own has not compensated. */
export const writesIn = (
  { done = [] }: Pick<Checkpoint, "done">,
  around: Run | undefined
): ReadonlyArray<CompensableWrite> =>
  (done as ReadonlyArray<unknown> as ReadonlyArray<CompensableWrite>).filter(({ id }) => isPendingIn(around, id))

/** True if a write of an inner agent is not compensated by the run, or an outer one. */
export const isPendingIn = (run: Run | undefined, id: string): boolean =>
  run?.writes.completed === undefined || run.writes.completed.get(id) !== undefined

/** The account of an ended run: it starts no work, and exhausted budgets do not prevent its compensation. */
const accountOver = (name: string): Account => new Account(name, {}, [], undefined, undefined)

/** The extension that a program answers with. One that it made by hand is checked like one of `Budget.extend`. */
const extensionOf = <R>(
  agent: string,
  onExceeded: () => Effect.Effect<Extension | undefined, never, R>
): Effect.Effect<Extension | undefined, never, R> =>
  Effect.suspend(() => effectResult({ subject: `Agent "${agent}"`, name: "onBudgetExceeded" }, onExceeded())).pipe(
    Effect.tap((extension) =>
      Effect.sync(() => {
        if (extension !== undefined) checkExtension(`Agent "${agent}", onBudgetExceeded`, extension)
      })
    )
  )

/** Makes the run of an agent. */
export const newRun = <R>(
  { caps, compensates, hasSteps = false, isLevel, name, onExceeded, thresholds }: Limits<R>,
  parent: Run | undefined,
  id: string,
  { sink, mayPause, over, resumed, runId, step, streaming }: Mode,
  context: Context.Context<R>,
  clock: Clock.Clock,
  input: unknown
): Run => {
  const ambient = context as Context.Context<never>
  const defaults = isLevel ? Context.get(ambient, Defaults) : undefined
  const call = Context.getOrUndefined(ambient, ToolCall)
  const outerCall = over?.outerCall ?? callAround(call, parent)
  const known = logOf(parent, id, ambient)
  const log = over === undefined ? known : RunLog.abandoned(id, known)
  const isOver = over !== undefined || parent?.start.isOver === true
  const run: Run = {
    id,
    agentRunId: parent === undefined
      ? id
      : over?.agentRunId !== undefined
      ? over.agentRunId
      : step === undefined
      ? nestedId(parent, name, outerCall)
      : idWithin(parent.agentRunId, step.id),
    parent,
    path: parent === undefined ? [name] : [...parent.path, name],
    scope: resumed?.scope ??
      (parent === undefined ? Path.ofRun(id) : scopeWithin({ parent, call, name, position: step?.position, input })),
    start: {
      outerCall,
      place: parent === undefined || log === undefined
        ? ""
        : placeWithin({ parent, call, name, position: step?.position, input }),
      hasDrawnId: parent?.start.hasDrawnId ?? runId === undefined,
      isOver,
      mayPause: mayPause === true,
      streaming: streaming || parent?.start.streaming === true,
      tracing: tracingOf(ambient)
    },
    log,
    clock,
    account: over !== undefined ? accountOver(name) : new Account(
      name,
      capsUnder(defaults?.caps, caps),
      thresholds ?? defaults?.thresholds ?? [],
      {
        onThreshold: (budget, threshold, used, limit) =>
          emit(run, () => ({ _tag: "BudgetThreshold", agent: name, budget, threshold, used, limit })),
        onExtended: (budget, limit) => emit(run, () => ({ _tag: "BudgetExtended", agent: name, budget, limit })),
        onExceeded: onExceeded === undefined
          ? undefined
          : (error) =>
            Effect.provideContext(
              extensionOf(name, () => onExceeded(error)),
              context
            )
      },
      parent?.account,
      isLevel
    ),
    audience: audienceOf(parent?.audience, ambient, sink, outOfRun),
    nested: new NestedRuns(hasSteps, resumed?.steps?.nested),
    counts: newCounts(parent, resumed),
    ...newFacts(
      parent,
      writesOf(parent, log, ambient),
      compensates && { whenRejected: compensates.after.has("rejection") },
      taintOf(parent, outerCall === undefined ? undefined : call, resumed),
      resumed
    )
  }
  if (resumed?.done !== undefined) run.writes.completed?.restore(run, writesIn(resumed, isOver ? parent : undefined))
  if (resumed?.ledgerAnswers !== undefined) restoreLedgerAnswers(run, resumed.ledgerAnswers)
  return run
}
