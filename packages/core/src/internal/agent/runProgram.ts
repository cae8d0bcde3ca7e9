/** Runs of programs: an agent with tools as something that can be started, and gone on with where it stopped. */
import * as Effect from "effect/Effect"
import type { Decision } from "../approval/decision.ts"
import { type DecisionRefused, SnapshotRefused } from "../approval/outcome.ts"
import type { Checkpoint, NestedRun, Snapshot } from "../approval/snapshot.ts"
import { loop, type Start } from "../loop/loop.ts"
import { type Program, toolsWith } from "../loop/program.ts"
import { withRequestTools } from "../loop/requestTools.ts"
import { observed } from "../loop/transportRetries.ts"
import { decisionsWithin } from "../round/nestedCalls.ts"
import { presentationOf } from "../result/delivery.ts"
import { readResult } from "../round/resumeCall.ts"
import type { Said } from "../run/record.ts"
import { Session } from "../run/session.ts"
import { saidAt } from "./stoppedWithin.ts"
import { describeTools } from "../tool/fingerprint.ts"
import type * as Tool from "../tool/tool.ts"
import type { Limits, Mode } from "./mode.ts"
import { undoesOwn } from "./goingOn.ts"
import type { Driven, Kind } from "./kind.ts"
import { about, driven } from "./resumable.ts"

/** The tools of a program, those of its skills with them. */
export const toolsOf = ({ skills, tools }: Program): ReadonlyArray<Tool.Any> => [
  ...new Set(
    [tools, ...skills.map(({ tools }) => tools)].flatMap(({ byName }) => [...byName.values()])
      .map(({ tool }) => tool)
  )
]

/** Runs a program within its boundary. */
const runProgram = (
  program: Program,
  kind: Kind,
  declaration: Limits<unknown>,
  from: Start,
  mode: Mode,
  input: unknown
): Effect.Effect<Driven, unknown, unknown> =>
  Effect.suspend(() => {
    const session = new Session()
    const checkpoint = "checkpoint" in from ? from.checkpoint : undefined
    /** The conversation where the run stopped: it is the run's own until that has gone on. */
    let stopped: (() => Said) | undefined
    const tools = () => describeTools(toolsOf(program))
    return driven(
      {
        kind,
        withdraw: () => {
          const { withdraw = Effect.void } = session
          session.withdraw = undefined
          return withdraw
        },
        body: {
          run: (run) => loop(program, from, run, session),
          said: () => session.begun || stopped === undefined ? session.said() : stopped(),
          resumable: (run) =>
            // What is undone is not gone on with.
            session.begun && run.done?.isUnwound !== true
              ? { checkpoint: () => session.checkpoint(run, undefined), tools }
              : undefined,
          services: (context, run) => {
            if (checkpoint !== undefined) stopped = () => saidAt(checkpoint, run, presentationOf(context))
            return observed(context, run, session)
          },
          onUndone: ({ root, tool }, mark) => session.transcript.undone(root, tool, mark)
        }
      },
      declaration,
      mode,
      input
    )
  })

/** A program as something that can be started, and gone on with. */
export const programKind = (program: Program, declaration: Limits<unknown>): Kind => {
  const { name } = program
  const skills = new Set(program.skills.map(({ skill }) => skill.name))
  const toolsChanged = () => new SnapshotRefused({ agent: name, reason: "tools_changed" })
  /** A tool of a run: skills may have tools of one name. */
  const named = ({ requestTools, skill }: Checkpoint, tool: string | undefined) =>
    withRequestTools(toolsWith(program, skill), requestTools).byName.get(tool ?? "")?.tool
  /** Whether the result that was decided fits. */
  const resultFits = (
    snapshot: Snapshot,
    tool: string,
    decision: Decision
  ): Effect.Effect<unknown, DecisionRefused, unknown> => {
    const found = named(snapshot, tool)
    return decision._tag !== "Respond" || found === undefined ? Effect.void : readResult(found, decision)
  }
  /** Whether an agent that is a tool goes on as was decided. */
  const goesOn = (
    around: Snapshot,
    tool: string | undefined,
    { callId, snapshot }: NestedRun,
    decisions: ReadonlyArray<Decision>
  ) => {
    const resumes = named(around, tool)?.resumes
    return resumes === undefined ? Effect.fail(toolsChanged()) : about(callId, resumes(snapshot, decisions))
  }
  const kind: Kind = {
    name,
    mayAsk: program.mayAsk,
    fingerprint: () => describeTools(toolsOf(program)),
    fits: Effect.fnUntraced(function*(snapshot: Snapshot, byCall, decisions, isOver) {
      const { round, skill } = snapshot
      if (!isOver && skill !== undefined && !skills.has(skill)) return yield* Effect.fail(toolsChanged())
      const { calls = [], nested = [], pending = [] } = round ?? {}
      const own = new Map(calls.map((call) => [call.id, call.name]))
      for (const { callId, tool } of pending) {
        const decision = byCall.get(callId)
        if (decision !== undefined && own.has(callId)) yield* resultFits(snapshot, tool, decision)
      }
      for (const run of nested) {
        const within = decisionsWithin(run.callId, decisions)
        if (within.length > 0) yield* goesOn(snapshot, own.get(run.callId), run, within)
      }
    }),
    isRepeatable: (snapshot, byCall) => {
      const own = new Map(snapshot.round?.calls.map((call) => [call.id, call.name]))
      return [...byCall.values()].every(({ _tag, callId }) => {
        if (_tag !== "Approve" && _tag !== "Edit") return true
        const info = named(snapshot, own.get(callId))?.info
        return info !== undefined && (info.passesKey || info.effects === "read" || info.effects === "idempotent")
      })
    },
    undoes: (snapshot, isLeft) => {
      const { round } = snapshot
      return undoesOwn(declaration.compensates, snapshot, isLeft) ||
        round?.nested?.some((run) => {
            const { name } = round.calls.find(({ id }) => id === run.callId)!
            return named(snapshot, name)?.undoes?.(run.snapshot as never, isLeft) === true
          }) === true
    },
    drive: (from, mode, input) => runProgram(program, kind, declaration, from, mode, input)
  }
  return kind
}
