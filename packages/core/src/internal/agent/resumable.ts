/** Resumable runs: pause for a person or end with a failure, and go on where they stopped. */
import { type RunOptions, withOptions } from "./agent.ts"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Stream from "effect/Stream"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import {
  ApprovalRequired,
  Completed,
  DecisionRefused,
  type Outcome,
  Paused,
  type SnapshotRefused
} from "../approval/outcome.ts"
import type { Decision } from "../approval/decision.ts"
import type { Snapshot } from "../approval/snapshot.ts"
import type { SnapshotKey } from "../approval/snapshotKey.ts"
import { CurrentJournal } from "../../Journal.ts"
import { isCancelledAgain } from "../run/heldBack.ts"
import { type Limits, type Mode, plain } from "./mode.ts"
import { type Body, withinLimits } from "./boundary.ts"
import type { Start } from "../loop/loop.ts"
import { idWithin } from "../run/callIds.ts"
import { Pause } from "../loop/pause.ts"
import { after } from "../foundation/sequence.ts"
import { match, open, seal, whileClaimed } from "../approval/seal.ts"
import { Annotation, type RunRecord } from "../run/record.ts"
import type { Run } from "../run/run.ts"
import type * as Tool from "../tool/tool.ts"
import { eventStream, type StreamOptions } from "./eventStream.ts"

/** What agents can do besides that run calls of tools, or agents that do: wait for approvals, and go on where it stopped. */
export interface Resumable<in In, out Out, out E, out R, out Resume = R | SnapshotKey> {
  /** Runs the agent; a run that waits for an approval is an answer, not a failure. */
  readonly start: (input: In, options?: RunOptions) => Effect.Effect<Outcome<Out>, E, R>
  /**
   * Goes on with a run that waits, or that a failure ended: see `RunRecord.snapshot`. `snapshot` is a `Snapshot` or JSON
   * that was one. Calls that have a result do not run again; calls without a decision wait on. Budgets go on counting.
   */
  readonly resume: (
    snapshot: unknown,
    decisions: ReadonlyArray<Decision>,
    options?: Pick<RunOptions, "streaming">
  ) => Effect.Effect<Outcome<Out>, E | SnapshotRefused | DecisionRefused, Resume>
  /** {@link resume} with streamed model calls. A run that waits again fails with `ApprovalRequired`, as `stream` does. */
  readonly resumeStream: (
    snapshot: unknown,
    decisions: ReadonlyArray<Decision>,
    options?: StreamOptions
  ) => Stream.Stream<AgentEvent, E | ApprovalRequired | SnapshotRefused | DecisionRefused, Resume>
  /** @internal Whether it can be resumed so; runs nothing. */
  readonly check: (
    snapshot: unknown,
    decisions: ReadonlyArray<Decision>
  ) => Effect.Effect<unknown, SnapshotRefused | DecisionRefused, Resume>
  /** @internal Whether its type says that it may wait. */
  readonly mayAsk: boolean
  /** @internal The tools of the agent. */
  readonly ownTools: () => ReadonlyArray<Tool.Any>
  /** @internal Start or resume, with a mode. */
  readonly proceed: (
    from: From<In>,
    mode: Mode
  ) => Effect.Effect<Outcome<Out>, E | SnapshotRefused | DecisionRefused, R | Resume>
}

/** @internal What a run that can wait begins with. */
export type From<In> =
  | { readonly input: In }
  | { readonly snapshot: unknown; readonly decisions: ReadonlyArray<Decision> }

/** What a run that ended is: an output, or a pause with its record. */
export type Driven = { readonly output: unknown } | { readonly paused: Paused; readonly record: RunRecord | undefined }

/** What a run within a boundary is that may wait. */
export interface Waitable {
  readonly name: string
  /** Whether its type says that it may wait. */
  readonly mayAsk: boolean
  /** What its snapshots are bound to. */
  readonly fingerprint: () => unknown
  /** Calls off what is asked: for a run that is interrupted before its caller, or the agent around it, knows that it waits. */
  readonly withdraw: () => Effect.Effect<void>
  readonly body: Body<unknown, unknown, unknown>
}

/** Runs within a boundary; where it waits, a snapshot is made. */
export const driven = (
  { body, fingerprint, mayAsk, withdraw }: Waitable,
  declaration: Limits<unknown>,
  mode: Mode,
  input: unknown
): Effect.Effect<Driven, unknown, unknown> =>
  Effect.suspend(() => {
    let record: (() => RunRecord) | undefined
    let isNested = false
    const withdrawn = Effect.suspend(withdraw)
    const answered = Effect.flatMap(
      withinLimits(
        declaration,
        mayAsk && mode.mayPause !== true ? { ...mode, mayPause: true } : mode,
        input,
        {
          ...body,
          onRecord: (ended) => record = ended,
          onFailed: () => withdrawn,
          run: (run) => {
            mode.onBegun?.(run)
            isNested = run.parent !== undefined
            if (mode.onQuestions !== undefined && isNested) mode.onQuestions(withdrawn)
            else run.parent?.questions.push(withdrawn)
            return body.run(run)
          }
        }
      ),
      (answer): Effect.Effect<Driven, never, SnapshotKey> => {
        if (!(answer instanceof Pause)) return Effect.succeed({ output: answer })
        return Effect.map(seal(answer.checkpoint(), fingerprint()), (snapshot) => ({
          paused: new Paused({ snapshot, pending: snapshot.round?.pending ?? [] }),
          record: record?.()
        }))
      }
    )
    return after(answered, (exit) => Exit.isSuccess(exit) || !isNested ? Effect.void : withdrawn)
  })

/** A run that waits is a failure to who cannot wait. */
export const failIfPaused = (agent: string) => (ended: Driven): Effect.Effect<unknown, ApprovalRequired> => {
  if ("output" in ended) return Effect.succeed(ended.output)
  const cause = Cause.fail(new ApprovalRequired({ agent, snapshot: ended.paused.snapshot }))
  return Effect.failCause(
    ended.record === undefined ? cause : Cause.annotate(cause, Context.make(Annotation, ended.record))
  )
}

/** A run that waits gives `Paused` as a value. */
const answersPause: Mode = { ...plain, mayPause: true }

const asOutcome = (ended: Driven): Outcome<unknown> =>
  "output" in ended ? new Completed({ output: ended.output }) : ended.paused

/** What can be started, and gone on with. */
export interface Kind {
  readonly name: string
  readonly mayAsk: boolean
  readonly tools: () => ReadonlyArray<Tool.Any>
  readonly fingerprint: () => unknown
  /** Whether what waits can go on as was decided, before anything runs. */
  readonly fits: (
    snapshot: Snapshot,
    byCall: ReadonlyMap<string, Decision>,
    decisions: ReadonlyArray<Decision>
  ) => Effect.Effect<unknown, SnapshotRefused | DecisionRefused, unknown>
  /** Whether all that was approved may run again: it reads, or the ledger knows whether it has run. */
  readonly isRepeatable: (snapshot: Snapshot, byCall: ReadonlyMap<string, Decision>) => boolean
  readonly drive: (from: Start, mode: Mode, input: unknown) => Effect.Effect<Driven, unknown, unknown>
}

/** A decision about a call within another one that does not fit is about that call. */
export const about = (
  callId: string,
  checked: Effect.Effect<unknown, SnapshotRefused | DecisionRefused, unknown>
): Effect.Effect<unknown, SnapshotRefused | DecisionRefused, unknown> =>
  Effect.catchTag(
    checked,
    "DecisionRefused",
    (refused) => new DecisionRefused({ ...refused, callId: idWithin(callId, refused.callId ?? "") })
  )

/** The ways in which it can be started and resumed. */
export const resumable = (
  { drive, fingerprint, fits, isRepeatable, mayAsk, name, tools }: Kind
): Resumable<unknown, unknown, unknown, unknown> => {
  const checked = Effect.fnUntraced(function*(value: unknown, decisions: ReadonlyArray<Decision>) {
    // What is cancelled calls no tool but to undo, and that is asked of each.
    const isOver = isCancelledAgain(yield* CurrentJournal)
    const snapshot = yield* open(name, isOver ? undefined : { fingerprint: fingerprint() }, value)
    const byCall = yield* Effect.fromResult(match(snapshot, decisions))
    yield* fits(snapshot, byCall, decisions)
    return { snapshot, byCall }
  })
  const resumed = Effect.fnUntraced(function*(value: unknown, decisions: ReadonlyArray<Decision>, mode: Mode) {
    const { byCall, snapshot } = yield* checked(value, decisions)
    let record: (() => RunRecord) | undefined
    let begun: Run | undefined
    const onRecord = (ended: () => RunRecord) => {
      record = ended
      mode.onRecord?.(ended)
    }
    const onBegun = (run: Run) => {
      begun = run
      mode.onBegun?.(run)
    }
    return yield* whileClaimed(
      snapshot,
      {
        hasRun: () => record !== undefined && record().executed.length > snapshot.executed.length,
        isRepeatable: () => isRepeatable(snapshot, byCall),
        isOver: () => begun?.hasWritten === true || record?.().compensations !== undefined
      },
      drive({ checkpoint: snapshot, decisions: byCall }, { ...mode, resumed: snapshot, onRecord, onBegun }, undefined)
    )
  })
  const start = (input: unknown, mode: Mode) => Effect.map(drive({ input }, mode, input), asOutcome)
  const resume = (snapshot: unknown, decisions: ReadonlyArray<Decision>, mode: Mode) =>
    Effect.map(resumed(snapshot, decisions, mode), asOutcome)
  return {
    mayAsk,
    ownTools: tools,
    start: (input, options) => start(input, withOptions(answersPause, options)),
    resume: (snapshot, decisions, options) => resume(snapshot, decisions, withOptions(answersPause, options)),
    resumeStream: (snapshot, decisions, options) =>
      eventStream(
        (mode) => Effect.flatMap(resumed(snapshot, decisions, { ...mode, mayPause: true }), failIfPaused(name)),
        options
      ),
    check: checked,
    proceed: (from, mode) => "input" in from ? start(from.input, mode) : resume(from.snapshot, from.decisions, mode)
  }
}
