/** New run: the first state of a run, also of one that resumes from a snapshot, and the addresses of one that is nested. */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as WebCrypto from "effect/crypto/WebCrypto"
import { type Caps, checkExtension, Defaults, type Extension } from "../../Budget.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { CurrentJournal } from "../../Journal.ts"
import type { Checkpoint } from "../approval/snapshot.ts"
import { type Call, ToolCall } from "../call/call.ts"
import { rootOf } from "../call/record/record.ts"
import { Account } from "../run/account.ts"
import type { CompensableWrite } from "../run/writes/completedWrites.ts"
import { audienceOf } from "../run/observe/listeners.ts"
import { CurrentRun, emit, NestedRuns, type Run, type RunStart } from "../run/run.ts"
import { restoreLedgerAnswers } from "../run/writes/ledgerAnswers.ts"
import { idWithin } from "../path/path.ts"
import * as Path from "../path/path.ts"
import { RunLog } from "../run/runLog.ts"
import { tracingOf } from "../run/observe/telemetry.ts"
import { CurrentWriteLog, type WriteLog } from "../run/writes/writeLog.ts"
import type { Limits, Mode } from "./runMode.ts"
import { addTaint, newCounts, newFacts } from "../run/state/runState.ts"
import { effectResult } from "../foundation/options/hookResult.ts"
import { contentHash } from "../foundation/json/contentHash.ts"
import { afterAttempts, attemptOf } from "../path/entryKeys.ts"

/** A nested run before it has an address. */
export interface Nested {
  readonly parent: Run
  /** The call that it runs in, if there is one. */
  readonly call: Call | undefined
  /** The agent. */
  readonly name: string
  /** The position of the agent among the steps of a composed agent. */
  readonly position: number | undefined
  readonly input: unknown
}

/**
 * Returns the text that identifies a run of an agent among runs of the same agent in the same call. A run that a
 * program starts by hand is identified by its input, so that the order of such runs does not matter. `isCounted`: by
 * its number alone, as in runs of older versions.
 */
const contentOf = ({ call, input }: Nested, isCounted: boolean): string =>
  isCounted || call?.record.attempts.tool?.isAgent === true ? "" : `(${contentHash(input)})`

/** Returns the path of a run of an agent, numbered among equal ones. They are counted by the name `counted`. */
const numbered = (nested: Nested, agent: string, counted: (path: string) => string): string => {
  const { nested: runs, log } = nested.parent
  const own = `${agent}${contentOf(nested, log?.hasCounted(agent) === true)}`
  return Path.ofEqual(own, runs.count(counted(own)))
}

/**
 * Returns the scope that separates the calls of a nested run from those of every other one: the outer runs and calls,
 * its agent, its input, and its number among equal runs. The same after a resumption, and in each attempt of the outer
 * call: an attempt has the path of the one before, so that a write of theirs with a default key is one write.
 */
export const scopeWithin = (nested: Nested): string => {
  const { call, name, parent, position } = nested
  const agent = Path.ofAgent(parent.scope, call?.identity ?? call?.id ?? "", name)
  return position === undefined
    ? numbered(nested, agent, (own) => `${call?.attempt ?? 0}/${own}`)
    : Path.ofStep(agent, position)
}

/**
 * Returns the path of a nested run in the journal of the outermost one. Unlike the scope, it differs for each attempt:
 * a model answer of one attempt is no answer in the next.
 */
const placeWithin = (nested: Nested): string => {
  const { call, name, parent, position } = nested
  const attempts = call?.record.attempts.count ?? 0
  const isRunning = (call?.record.outcome.running ?? 0) > 0
  const within = call && (isRunning ? attemptOf : afterAttempts)(call.identity ?? call.id, attempts)
  const agent = Path.ofAgent(parent.start.place, within ?? "", name)
  return position === undefined ? numbered(nested, agent, (own) => `journal/${own}`) : Path.ofStep(agent, position)
}

/** Returns the outer call in which an agent starts, if there is one: not one that the run itself is in. */
export const callAround = (call: Call | undefined, parent: Run | undefined): RunStart["outerCall"] => {
  if (call === undefined || parent === undefined) return undefined
  for (let run: Run | undefined = parent; run !== undefined; run = run.parent) {
    if (run.start.outerCall?.record === call.record) return undefined
  }
  return { id: call.id, record: call.record }
}

/** The id of another agent's run within a run, and within one of its calls if it is one. */
const nestedId = (parent: Run, name: string, call: RunStart["outerCall"]): string => {
  const within = idWithin(parent.agentRunId, call?.id ?? name)
  const times = parent.nested.count(`id/${within}`)
  // The ids of steps are the same however many other runs there were.
  if (parent.nested.hasSteps) return `${within}~${times}`
  return times === 1 ? within : `${within}#${times}`
}

/** A context outside of every run, for watchers. */
export const outOfRun = (context: Context.Context<never>): Context.Context<never> =>
  Context.add(context, CurrentRun, undefined)

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
  return runId ?? `run_${Context.get(context, WebCrypto.WebCrypto).randomUUID()}`
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
const accountOver = (name: string, clock: Clock.Clock): Account =>
  new Account(name, {}, [], undefined, undefined, false, clock)

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
  const ownCaps = capsUnder(defaults?.caps, caps)
  const writeLog = writesOf(parent, log, ambient)
  const taintedBy = taintOf(parent, outerCall === undefined ? undefined : call, resumed)
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
    account: over !== undefined ? accountOver(name, clock) : new Account(
      name,
      ownCaps,
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
      isLevel,
      clock
    ),
    audience: audienceOf(parent?.audience, ambient, sink, outOfRun),
    nested: new NestedRuns(hasSteps, resumed?.steps?.nested),
    counts: newCounts(parent, resumed),
    ...newFacts(
      parent,
      writeLog,
      compensates && { whenRejected: compensates.after.has("rejection") },
      taintedBy,
      resumed
    )
  }
  if (resumed?.done !== undefined) run.writes.completed?.restore(run, writesIn(resumed, isOver ? parent : undefined))
  if (resumed?.ledgerAnswers !== undefined) restoreLedgerAnswers(run, resumed.ledgerAnswers)
  return run
}
