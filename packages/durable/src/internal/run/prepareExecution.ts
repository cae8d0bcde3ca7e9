/** Preparation of an execution: its run is read whole, with its log and the decisions that it resumes with. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Decision } from "@recourse/core/Approval"
import type { RunInbox } from "@recourse/core/RunInbox"
import {
  type Conversation,
  inputFromStored,
  namesConversation,
  noConversation,
  readConversation,
  resolving,
  snapshotFromStored
} from "../store/conversation.ts"
import { countFailover } from "./counting.ts"
import { type From, inputOf, type Registered } from "../agent/definition.ts"
import type { Execution } from "./execution.ts"
import { readerOf } from "./inbox.ts"
import { type Fate, fateOf, overKind } from "./runEnds.ts"
import { Recorder, type Surroundings } from "./recorder.ts"
import type { RunHistory, RunStoreError, StoredRun } from "../store/store.ts"
import type { Taken } from "../agent/versions.ts"
import { startedBy } from "../store/startedBy.ts"
import { earlierEvents } from "../store/storedForms.ts"
import { isUnreadable } from "../store/unreadable.ts"

const nothing: RunHistory = { steps: [], positions: 0, events: 0, lastEpoch: 0, decisions: [] }

/** Start of a segment. Decisions about calls that no longer wait are left out. */
const fromOf = (
  { definition }: Registered,
  run: StoredRun,
  decisions: ReadonlyArray<Schema.Json>
): Effect.Effect<From, unknown, unknown> => {
  if (!goesOn(run)) return Effect.map(inputOf(definition, run.input), (input) => ({ input }))
  const pending = new Set((run.pending as unknown as ReadonlyArray<Decision>).map(({ callId }) => callId))
  return Effect.succeed({
    snapshot: run.snapshot as Schema.Json,
    decisions: (decisions as unknown as ReadonlyArray<Decision>).filter(({ callId }) => pending.has(callId))
  })
}

/** True if the agent accepts a decision. */
const fitting = ({ definition }: Registered, { snapshot }: StoredRun) => (decision: Schema.Json) =>
  Effect.isSuccess(definition.check(snapshot, [decision as unknown as Decision]))

/** True if a segment resumes a snapshot. */
const goesOn = (run: StoredRun): boolean => run.snapshot !== undefined && run.segment > 0

/** A run with its whole input and snapshot, and its conversation. */
const wholeRun = (
  { known, store }: Surroundings,
  run: StoredRun
): Effect.Effect<{ readonly run: StoredRun; readonly conversation: Conversation }, RunStoreError> =>
  // Another process may have added parts since it waited.
  Effect.map(
    run.segment > 0
      ? readConversation(store, run.runId)
      : namesConversation(run.input)
      ? known.read(store, run.runId, 1)
      : Effect.succeed(noConversation),
    (conversation) => ({
      conversation,
      run: {
        ...run,
        input: inputFromStored(run.input, conversation),
        snapshot: run.snapshot && snapshotFromStored(run.snapshot, conversation)
      }
    })
  )

/** An execution whose agent may start. */
export interface Prepared {
  readonly registered: Registered
  readonly run: StoredRun
  readonly loaded: RunHistory
  readonly fate: Fate
  readonly recorder: Recorder
  readonly inbox: RunInbox
  readonly decisions: ReadonlyArray<Schema.Json>
}

/** Reads a run, its log and its events. Data that cannot be read is named, and left out. */
const readRun = Effect.fnUntraced(function*(around: Surroundings, stored: StoredRun) {
  const unreadable = [...stored.unreadable ?? []]
  const readOr = <A, E>(read: Effect.Effect<A, E | RunStoreError>, instead: A) =>
    Effect.catchIf(read, isUnreadable, ({ reason }) => {
      unreadable.push(reason.data)
      return Effect.succeed(instead)
    })
  const { conversation, run } = yield* readOr(wholeRun(around, stored), { conversation: noConversation, run: stored })
  // The first owner of a run has no entries to load.
  const loaded = run.epoch === 1 ? nothing : yield* around.store.load(run)
  unreadable.push(...loaded.unreadable ?? [])
  const earlier = yield* readOr(resolving(() => earlierEvents(run, loaded.steps)), [])
  if (unreadable.length === 0) return { conversation, run, loaded, earlier }
  const { runId } = run
  yield* Effect.annotateLogs(
    Effect.logError(
      `Run ${runId} of agent "${run.agent}" cannot be read: ${
        unreadable.join(", ")
      }. A person has to look at its writes`
    ),
    { run_id: runId }
  )
  const steps = loaded.steps.filter(({ isUnreadable }) => isUnreadable !== true)
  return { conversation, run, loaded: { ...loaded, steps, unreadable }, earlier }
})

/**
 * Cancels a run whose parent was cancelled: the process that started it may have been killed before it read its parent.
 */
const cancelWithParent = (
  { store }: Surroundings,
  run: StoredRun,
  execution: Execution
): Effect.Effect<void, RunStoreError> => {
  const parent = startedBy(run)
  return parent === undefined || run.isCancelled ? Effect.void : Effect.flatMap(store.get(parent), (found) => {
    if (found?.isCancelled !== true) return Effect.void
    execution.leave("cancelled")
    return Effect.asVoid(store.cancel(run.runId))
  })
}

/** Reads the data of an execution; `undefined` if another process owns the run by now. */
export const prepareExecution = Effect.fnUntraced(function*(
  around: Surroundings,
  taken: Taken,
  stored: StoredRun,
  execution: Execution
): Effect.fn.Return<Prepared | undefined, RunStoreError, unknown> {
  const { registered } = taken
  const clock = yield* Clock.Clock
  yield* cancelWithParent(around, stored, execution)
  const { conversation, earlier, loaded, run } = yield* readRun(around, stored)
  const idle = run.epoch - 1 - loaded.lastEpoch
  const fate = fateOf(taken, run, loaded, idle)
  execution.over = fate.over
  const recorder = new Recorder(run, loaded, around, clock, {
    conversation,
    earlier,
    execution,
    // A read may be the reason why its process repeatedly ends: then the answer before it is not requested each time.
    mayNote: idle === 0
  })
  if (idle > 0 || loaded.steps.length > 0) yield* countFailover({ agent: run.agent })
  if (fate.isNew && (yield* around.writer.add([recorder.next(overKind, fate.over!.error, null)])) === "lost") {
    return undefined
  }
  // A refusal by the agent does not prevent the compensation of an ended run.
  const decisions = execution.isCancelled
    ? yield* Effect.filter(loaded.decisions, fitting(registered, run))
    : loaded.decisions
  // The first execution of a run that is cancelled by now starts no agent: it has no write to compensate.
  const proceeds = fate.proceeds && !(execution.isCancelled && run.epoch === 1)
  const inbox = readerOf(around.store, run, clock, execution)
  return { registered, run, loaded, fate: { ...fate, proceeds }, recorder, inbox, decisions }
})

/** Work of the agent: it starts or resumes the run, or does neither. */
export const proceedingOf = ({ decisions, fate, registered, run }: Prepared) =>
  fate.proceeds
    ? Effect.flatMap(fromOf(registered, run, decisions), (from) => registered.definition.proceed(from, run.runId))
    : Effect.interrupt
