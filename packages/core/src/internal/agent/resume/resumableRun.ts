/** Resumable runs: they pause for a person or end with a failure, and resume there. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Stream from "effect/Stream"
import { type RunOptions, withOptions } from "../agent.ts"
import type { AgentEvent } from "../../../AgentEventSchema.ts"
import {
  ApprovalRequired,
  Completed,
  DecisionRefused,
  type Outcome,
  Paused,
  type SnapshotRefused
} from "../../approval/outcome.ts"
import type { Decision } from "../../approval/decision.ts"
import type { Snapshot } from "../../approval/snapshot.ts"
import type { SnapshotKey } from "../../approval/snapshotKey.ts"
import { type EndMode, type Limits, type Mode, plain } from "../runMode.ts"
import { checked, endOver, registerCleanup, resumed } from "./resumeRun.ts"
import type { Explanation } from "../../approval/definitions.ts"
import { explain } from "./explainSnapshot.ts"
import type { Driven, Kind } from "./agentKind.ts"
import { withinLimits } from "../boundary.ts"
import type { Body } from "../runBody.ts"
import { idWithin } from "../../path/path.ts"
import { Pause } from "../../loop/pause.ts"
import { seal } from "../../approval/seal.ts"
import { Annotation, type RunRecord } from "../../run/runEntries.ts"
import type { Over, Run } from "../../run/run.ts"
import type * as Tool from "../../tool/tool.ts"
import { eventStream, type StreamOptions } from "../eventStream.ts"

/**
 * Further methods of agents that run tool calls, or that run such agents: wait for approvals, and resume.
 *
 * @category models
 * @since 0.2.0
 */
export interface Resumable<in In, out Out, out E, out R, out Resume = R | SnapshotKey> {
  /** Runs the agent; a run that waits for an approval is an answer, not a failure. */
  readonly start: (input: In, options?: RunOptions) => Effect.Effect<Outcome<Out>, E, R>
  /**
   * Resumes a run that waits, or that a failure ended: see `RunRecord.snapshot`. `snapshot` is a `Snapshot` or its
   * JSON. Calls with a result do not run again; calls without a decision stay pending. Budgets continue to count.
   */
  readonly resume: (
    snapshot: unknown,
    decisions: ReadonlyArray<Decision>,
    options?: Pick<RunOptions, "streaming">
  ) => Effect.Effect<Outcome<Out>, E | SnapshotRefused | DecisionRefused, Resume>
  /** {@link resume} with streamed model calls. A run that waits again fails with `ApprovalRequired`, like `stream`. */
  readonly resumeStream: (
    snapshot: unknown,
    decisions: ReadonlyArray<Decision>,
    options?: StreamOptions
  ) => Stream.Stream<AgentEvent, E | ApprovalRequired | SnapshotRefused | DecisionRefused, Resume>
  /**
   * Explains if this agent in its present state can resume a snapshot, and how its tools differ from those of the
   * pause; runs no call. Does not fail: a refusal of `resume` is `refused`. It does not check if the snapshot was
   * resumed before.
   *
   * ```ts skip
   * const { canResume, parts } = yield* agent.explain(snapshot)
   * ```
   */
  readonly explain: (snapshot: unknown) => Effect.Effect<Explanation, never, Resume>
  /** @internal Checks if it can be resumed with these decisions; runs no call. */
  readonly check: (
    snapshot: unknown,
    decisions: ReadonlyArray<Decision>
  ) => Effect.Effect<unknown, SnapshotRefused | DecisionRefused, Resume>
  /** @internal Whether its type says that it may wait. */
  readonly mayAsk: boolean
  /** @internal Ends a waiting run that is abandoned: its completed writes are compensated, if due. */
  readonly end: (snapshot: unknown, over: Over, mode?: EndMode) => Effect.Effect<void, never, Resume>
  /** @internal True if that compensates a write. `isLeft`: true if a write is not compensated yet. */
  readonly shouldCompensate: Tool.ShouldCompensate
  /** @internal Start or resume, with a mode. */
  readonly proceed: (
    from: From<In>,
    mode: Mode
  ) => Effect.Effect<Outcome<Out>, E | SnapshotRefused | DecisionRefused, R | Resume>
}

/** @internal Start of a run that can wait. */
export type From<In> =
  | { readonly input: In }
  | { readonly snapshot: unknown; readonly decisions: ReadonlyArray<Decision> }

/** A run within a boundary that may wait. */
export interface Waitable {
  readonly kind: Kind
  /**
   * Withdraws the questions: for a run that is interrupted before its caller, or the outer agent, knows that it waits.
   */
  readonly withdraw: () => Effect.Effect<void>
  readonly body: Body<unknown, unknown, unknown>
}

/** Starts a run within a boundary: the effect runs it, once, and makes a snapshot if the run waits. */
export const driven = (
  context: Context.Context<SnapshotKey>,
  { body, kind, withdraw }: Waitable,
  declaration: Limits<unknown>,
  mode: Mode,
  input: unknown
): Effect.Effect<Driven, unknown, unknown> => {
  let record: (() => RunRecord) | undefined
  let currentRun: Run | undefined
  let pause: Pause | undefined
  const isNested = () => currentRun?.parent !== undefined
  let snapshot: Snapshot | undefined
  // One snapshot for all requesters: whoever resumes has claimed it.
  const sealed = (answer: Pause) =>
    snapshot !== undefined
      ? Effect.succeed(snapshot)
      : Effect.tap(seal(answer.checkpoint(), answer.parts()), (made) => Effect.sync(() => snapshot ??= made))
  const withdrawn = Effect.uninterruptible(Effect.suspend(() => {
    // Waiting inner runs are withdrawn before the end is emitted.
    if (mode.over !== undefined && isNested()) return Effect.void
    const waited = pause
    pause = undefined
    if (waited === undefined) return withdraw()
    const registration = Effect.sync(() =>
      registerCleanup(kind, currentRun!, mode, Effect.suspend(() => sealed(waited)), context)
    )
    return Effect.andThen(withdraw(), registration)
  }))
  const answered = Effect.flatMap(
    withinLimits(
      context as Context.Context<unknown>,
      declaration,
      kind.mayAsk ? { ...mode, mayPause: true } : mode,
      input,
      {
        ...body,
        onEnded: mode.onStands && (() => mode.onStands!(pause === undefined ? undefined : sealed(pause))),
        onFailed: () => withdrawn,
        onPaused: (waited, lastRecord) => {
          pause = waited
          record = lastRecord
        },
        run: (run, services) => {
          mode.onStarted?.(run)
          currentRun = run
          if (mode.onQuestions !== undefined && isNested()) mode.onQuestions(withdrawn)
          else run.parent?.nested.addQuestion(withdrawn)
          return body.run(run, services)
        }
      }
    ),
    (answer): Effect.Effect<Driven, never, SnapshotKey> => {
      if (!(answer instanceof Pause)) return Effect.succeed({ output: answer })
      return Effect.map(sealed(answer), (snapshot) => ({
        paused: new Paused({ snapshot, pending: snapshot.round!.pending }),
        record: record!()
      }))
    }
  )
  return Effect.onExitPrimitive(answered, (exit) => Exit.isFailure(exit) && isNested() ? withdrawn : undefined)
}

/** A run that waits is a failure to who cannot wait. */
export const failIfPaused = (agent: string) => (ended: Driven): Effect.Effect<unknown, ApprovalRequired> => {
  if ("output" in ended) return Effect.succeed(ended.output)
  const cause = Cause.fail(new ApprovalRequired({ agent, snapshot: ended.paused.snapshot }))
  return Effect.failCause(Cause.annotate(cause, Context.make(Annotation, ended.record)))
}

/** A run that waits gives `Paused` as a value. */
const answersPause: Mode = { ...plain, mayPause: true }

const asOutcome = (ended: Driven): Outcome<unknown> =>
  "output" in ended ? new Completed({ output: ended.output }) : ended.paused

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
export const resumable = (kind: Kind): Resumable<unknown, unknown, unknown, unknown> => {
  const { drive, mayAsk, name, shouldCompensate } = kind
  const start = (input: unknown, mode: Mode) => Effect.map(drive({ input }, mode, input), asOutcome)
  const resume = (snapshot: unknown, decisions: ReadonlyArray<Decision>, mode: Mode) =>
    Effect.map(resumed(kind, snapshot, decisions, mode), asOutcome)
  return {
    mayAsk,
    start: (input, options) => start(input, withOptions(answersPause, options)),
    resume: (snapshot, decisions, options) => resume(snapshot, decisions, withOptions(answersPause, options)),
    resumeStream: (snapshot, decisions, options) =>
      eventStream(
        (mode) => Effect.flatMap(resumed(kind, snapshot, decisions, { ...mode, mayPause: true }), failIfPaused(name)),
        options
      ),
    explain: (snapshot) => explain(kind, snapshot),
    check: (snapshot, decisions) => checked(kind, snapshot, decisions, undefined),
    end: (snapshot, over, mode) => endOver(kind, snapshot as Snapshot, over, mode),
    shouldCompensate,
    proceed: (from, mode) => "input" in from ? start(from.input, mode) : resume(from.snapshot, from.decisions, mode)
  }
}
