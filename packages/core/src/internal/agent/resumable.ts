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
  SnapshotRefused
} from "../approval/outcome.ts"
import type { Decision } from "../approval/decision.ts"
import type { NestedRun, Snapshot } from "../approval/snapshot.ts"
import type { SnapshotKey } from "../approval/snapshotKey.ts"
import { type Limits, type Mode, plain } from "./mode.ts"
import { withinLimits } from "./boundary.ts"
import { readResult } from "../round/resumeCall.ts"
import { loop, type Start } from "../loop/loop.ts"
import type { Program } from "../loop/program.ts"
import { idWithin } from "../run/callIds.ts"
import { decisionsWithin } from "../round/nestedCalls.ts"
import { observed } from "../loop/transportRetries.ts"
import { Pause } from "../loop/pause.ts"
import { after } from "../foundation/sequence.ts"
import { Session } from "../run/session.ts"
import { match, open, seal, whileClaimed } from "../approval/seal.ts"
import { describeTools } from "../tool/fingerprint.ts"
import { Annotation, type RunRecord } from "../run/record.ts"
import type * as Tool from "../tool/tool.ts"
import { eventStream, type StreamOptions } from "./eventStream.ts"

/** What a model with tools can do besides: wait for approvals, and go on where it stopped. */
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
type Driven = { readonly output: unknown } | { readonly paused: Paused; readonly record: RunRecord | undefined }

/** The tools of a program, those of its skills with them. */
export const toolsOf = ({ skills, tools }: Program): ReadonlyArray<Tool.Any> => [
  ...new Set(
    [tools, ...skills.map(({ tools }) => tools)].flatMap(({ byName }) => [...byName.values()])
      .map(({ tool }) => tool)
  )
]

/** Runs a program within its boundary; where it waits, a snapshot is made. */
export const runToEnd = (
  program: Program,
  declaration: Limits<unknown>,
  from: Start,
  mode: Mode,
  input: unknown
): Effect.Effect<Driven, unknown, unknown> =>
  Effect.suspend(() => {
    const session = new Session()
    const tools = () => describeTools(toolsOf(program))
    let record: (() => RunRecord) | undefined
    let isNested = false
    /** For a run that is interrupted before its caller, or the agent around it, knows that it waits. */
    const withdrawn = Effect.suspend(() => {
      const { withdraw = Effect.void } = session
      session.withdraw = undefined
      return withdraw
    })
    const answered = Effect.flatMap(
      withinLimits(
        declaration,
        program.mayAsk && mode.mayPause !== true ? { ...mode, mayPause: true } : mode,
        input,
        {
          onRecord: (ended) => record = ended,
          onFailed: () => withdrawn,
          run: (run) => {
            mode.onBegun?.()
            isNested = run.parent !== undefined
            if (mode.onQuestions !== undefined && isNested) mode.onQuestions(withdrawn)
            else run.parent?.questions.push(withdrawn)
            return loop(program, from, run, session)
          },
          transcript: () => session.transcript.snapshot(),
          resumable: (run) =>
            // What is undone is not gone on with.
            session.begun && run.done?.isUnwound !== true
              ? { checkpoint: () => session.checkpoint(run, undefined), tools }
              : undefined,
          services: (context, run) => observed(context, run, session),
          onUndone: ({ root, tool }) => session.transcript.undone(root, tool)
        }
      ),
      (answer): Effect.Effect<Driven, never, SnapshotKey> => {
        if (!(answer instanceof Pause)) return Effect.succeed({ output: answer })
        return Effect.map(seal(answer.checkpoint(), tools()), (snapshot) => ({
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

/** The ways in which a program can be started and resumed. */
export const resumable = (
  program: Program,
  declaration: Limits<unknown>
): Resumable<unknown, unknown, unknown, unknown> => {
  const { name } = program
  /** Whether the results that were decided fit, before anything runs. */
  const fits = (tool: string, decision: Decision): Effect.Effect<unknown, DecisionRefused, unknown> => {
    const found = toolsOf(program).find((candidate) => candidate.name === tool)
    return decision._tag !== "Respond" || found === undefined ? Effect.void : readResult(found, decision)
  }
  /** Whether an agent that is a tool goes on as was decided. */
  const goesOn = (tool: string | undefined, { callId, snapshot }: NestedRun, decisions: ReadonlyArray<Decision>) => {
    const resumes = toolsOf(program).find((candidate) => candidate.name === tool)?.resumes
    if (resumes === undefined) return Effect.fail(new SnapshotRefused({ agent: name, reason: "tools_changed" }))
    return Effect.catchTag(
      resumes(snapshot, decisions),
      "DecisionRefused",
      (refused) => new DecisionRefused({ ...refused, callId: idWithin(callId, refused.callId ?? "") })
    )
  }
  const checked = (value: unknown, decisions: ReadonlyArray<Decision>) =>
    Effect.gen(function*() {
      const snapshot = yield* open(name, describeTools(toolsOf(program)), value)
      const byCall = yield* Effect.fromResult(match(snapshot, decisions))
      const { calls = [], nested = [], pending = [] } = snapshot.round ?? {}
      const own = new Map(calls.map((call) => [call.id, call.name]))
      for (const { callId, tool } of pending) {
        const decision = byCall.get(callId)
        if (decision !== undefined && own.has(callId)) yield* fits(tool, decision)
      }
      for (const run of nested) {
        const withinLimits = decisionsWithin(run.callId, decisions)
        if (withinLimits.length > 0) yield* goesOn(own.get(run.callId), run, withinLimits)
      }
      return { snapshot, byCall }
    })
  /** Whether all that was approved may run again: it reads, or the ledger knows whether it has run. */
  const isRepeatable = ({ round }: Snapshot, byCall: ReadonlyMap<string, Decision>) => {
    const own = new Map(round?.calls.map((call) => [call.id, call.name]))
    return [...byCall.values()].every(({ _tag, callId }) => {
      if (_tag === "Reject" || _tag === "Respond") return true
      const info = toolsOf(program).find((candidate) => candidate.name === own.get(callId))?.info
      return info !== undefined && (info.passesKey || info.effects === "read" || info.effects === "idempotent")
    })
  }
  const resumed = (value: unknown, decisions: ReadonlyArray<Decision>, mode: Mode) =>
    Effect.gen(function*() {
      const { byCall, snapshot } = yield* checked(value, decisions)
      const from = { checkpoint: snapshot, decisions: byCall }
      let record: (() => RunRecord) | undefined
      const onRecord = (ended: () => RunRecord) => {
        record = ended
        mode.onRecord?.(ended)
      }
      return yield* whileClaimed(
        snapshot,
        {
          hasRun: () => record !== undefined && record().executed.length > snapshot.executed.length,
          isRepeatable: () => isRepeatable(snapshot, byCall),
          isUnwound: () => record?.().compensations !== undefined
        },
        runToEnd(program, declaration, from, { ...mode, resumed: snapshot, onRecord }, undefined)
      )
    })
  const start = (input: unknown, mode: Mode) =>
    Effect.map(runToEnd(program, declaration, { input }, mode, input), asOutcome)
  const resume = (snapshot: unknown, decisions: ReadonlyArray<Decision>, mode: Mode) =>
    Effect.map(resumed(snapshot, decisions, mode), asOutcome)
  return {
    mayAsk: program.mayAsk,
    ownTools: () => toolsOf(program),
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
