/** Resumable runs: pause for a person or end with a failure, and go on where they stopped. */
import { type RunOptions, withOptions } from "../agent.ts"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Stream from "effect/Stream"
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
import { type Body, withinLimits } from "../boundary.ts"
import { idWithin } from "../../foundation/idsWithin.ts"
import { Pause } from "../../loop/pause.ts"
import { after } from "../../foundation/effect/sequence.ts"
import { seal } from "../../approval/seal.ts"
import { Annotation, type RunRecord } from "../../run/runEntries.ts"
import type { Over, Run } from "../../run/run.ts"
import type * as Tool from "../../tool/tool.ts"
import { eventStream, type StreamOptions } from "../eventStream.ts"

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
  /**
   * Says whether this agent, as it is now, can resume a snapshot, and how its tools differ from those of the pause; runs nothing. Does
   * not fail: what `resume` refuses is `refused`. It does not look up whether the snapshot was resumed before.
   *
   * ```ts skip
   * const { canResume, parts } = yield* agent.explain(snapshot)
   * ```
   */
  readonly explain: (snapshot: unknown) => Effect.Effect<Explanation, never, Resume>
  /** @internal Whether it can be resumed so; runs nothing. */
  readonly check: (
    snapshot: unknown,
    decisions: ReadonlyArray<Decision>
  ) => Effect.Effect<unknown, SnapshotRefused | DecisionRefused, Resume>
  /** @internal Whether its type says that it may wait. */
  readonly mayAsk: boolean
  /** @internal Ends a run of it that waits, where nobody goes on with it: what it has done is undone, if that is to be. */
  readonly end: (snapshot: unknown, over: Over, mode?: EndMode) => Effect.Effect<void, never, Resume>
  /** @internal Whether that undoes something. `isLeft`: whether a write is not undone yet. */
  readonly undoes: Tool.Undoes
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

/** What a run within a boundary is that may wait. */
export interface Waitable {
  readonly kind: Kind
  /** Calls off what is asked: for a run that is interrupted before its caller, or the agent around it, knows that it waits. */
  readonly withdraw: () => Effect.Effect<void>
  readonly body: Body<unknown, unknown, unknown>
}

/** Runs within a boundary; where it waits, a snapshot is made. */
export const driven = (
  { body, kind, withdraw }: Waitable,
  declaration: Limits<unknown>,
  mode: Mode,
  input: unknown
): Effect.Effect<Driven, unknown, unknown> =>
  Effect.contextWith((context: Context.Context<SnapshotKey>) => {
    let record: (() => RunRecord) | undefined
    let begun: Run | undefined
    let pause: Pause | undefined
    const isNested = () => begun?.parent !== undefined
    let snapshot: Snapshot | undefined
    // One snapshot, whoever asks for it: who goes on with it has claimed it.
    const sealed = (answer: Pause) =>
      snapshot !== undefined
        ? Effect.succeed(snapshot)
        : Effect.tap(seal(answer.checkpoint(), answer.parts()), (made) => Effect.sync(() => snapshot ??= made))
    const withdrawn = Effect.uninterruptible(Effect.suspend(() => {
      // What waits within a run is told to be off before that is over.
      if (mode.over !== undefined && isNested()) return Effect.void
      const waited = pause
      pause = undefined
      if (waited === undefined) return withdraw()
      const owed = Effect.sync(() => registerCleanup(kind, begun!, mode, Effect.suspend(() => sealed(waited)), context))
      return Effect.andThen(withdraw(), owed)
    }))
    const answered = Effect.flatMap(
      withinLimits(
        declaration,
        kind.mayAsk ? { ...mode, mayPause: true } : mode,
        input,
        {
          ...body,
          onRecord: (ended) => {
            record = ended
            mode.onStands?.(pause === undefined ? undefined : sealed(pause))
          },
          onFailed: () => withdrawn,
          onPaused: (waited) => pause = waited,
          run: (run) => {
            mode.onBegun?.(run)
            begun = run
            if (mode.onQuestions !== undefined && isNested()) mode.onQuestions(withdrawn)
            else run.parent?.nested.addQuestion(withdrawn)
            return body.run(run)
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
    return after(answered, (exit) => Exit.isSuccess(exit) || !isNested() ? Effect.void : withdrawn)
  })

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
  const { drive, mayAsk, name, undoes } = kind
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
    undoes,
    proceed: (from, mode) => "input" in from ? start(from.input, mode) : resume(from.snapshot, from.decisions, mode)
  }
}
