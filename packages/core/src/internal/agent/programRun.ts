/** Runs of programs: an agent with tools as a program that can be started, paused and resumed. */
import * as Effect from "effect/Effect"
import type { Decision } from "../approval/decision.ts"
import { describeTools, type Parts } from "../approval/compareParts.ts"
import type { Explanation } from "../approval/definitions.ts"
import { type DecisionRefused, SnapshotRefused } from "../approval/outcome.ts"
import type { Checkpoint, NestedRun, Snapshot } from "../approval/snapshot.ts"
import { loop, type Start } from "../loop/loop.ts"
import { type Program, toolsWith } from "../loop/program.ts"
import { toolsAt } from "../loop/tools/checkpointTools.ts"
import { withRequestTools } from "../loop/tools/requestTools.ts"
import { observed } from "../loop/transportRetries.ts"
import { decisionsWithin } from "../round/resume/nestedPauses.ts"
import { presentationOf } from "../result/delivery.ts"
import { readResult } from "../round/resume/resumeCall.ts"
import type { Said } from "../run/runEntries.ts"
import { Session } from "../run/session.ts"
import { messagesAt } from "./resume/pausedConversation.ts"
import type * as Tool from "../tool/tool.ts"
import type { Limits, Mode } from "./runMode.ts"
import { explainRefused } from "./resume/explainSnapshot.ts"
import { compensatesOwn } from "./resume/resumeRun.ts"
import type { Driven, Kind } from "./resume/agentKind.ts"
import { about, driven } from "./resume/resumableRun.ts"

/** The tools of a program, those of its skills with them. */
export const toolsOf = ({ skills, tools }: Program): ReadonlyArray<Tool.Any> => [
  ...new Set(
    [tools, ...skills.map(({ tools }) => tools)].flatMap(({ byName }) => [...byName.values()])
      .map(({ tool }) => tool)
  )
]

/** Returns the tools of a run, in their present state. */
const partsOf = ({ tools }: Session): Parts => ({ tools: [...tools.values()].map(({ tool }) => tool) })

/** Runs a program within its boundary. */
const runProgram = (
  program: Program,
  kind: Kind,
  declaration: Limits<unknown>,
  from: Start,
  mode: Mode,
  input: unknown
): Effect.Effect<Driven, unknown, unknown> =>
  driven(
    () => {
      const session = new Session()
      const checkpoint = "checkpoint" in from ? from.checkpoint : undefined
      /** The conversation at the pause: it is the run's own until the run resumes. */
      let stopped: (() => Said) | undefined
      return {
        kind,
        withdraw: () => {
          const { withdraw = Effect.void } = session
          session.withdraw = undefined
          return withdraw
        },
        body: {
          run: (run) => loop(program, from, run, session),
          said: () => session.isResumable || stopped === undefined ? session.said() : stopped(),
          resumable: (run) =>
            // Compensated calls are not resumed.
            session.isResumable && !run.writes.isCompensating
              ? { checkpoint: () => session.checkpoint(run, undefined), parts: () => partsOf(session) }
              : undefined,
          services: (context, run) => {
            if (checkpoint !== undefined) stopped = () => messagesAt(checkpoint, run, presentationOf(context))
            return observed(context, run, session)
          },
          onCompensated: ({ root, tool }, mark) => session.transcript.undone(root, tool, mark)
        }
      }
    },
    declaration,
    mode,
    input
  )

/** A tool of the agent in a run: skills may have tools of one name. Those of a request are no agents, and are never repeated or compensated. */
const toolNamed = (program: Program, { skill }: Checkpoint, tool: string | undefined) =>
  toolsWith(program, skill).byName.get(tool ?? "")?.tool

/** The refusal of a run that waits within a call of a tool that is no agent that can wait. */
const noAgent = (agent: string, tool = "") =>
  new SnapshotRefused({
    agent,
    reason: "tools_changed",
    differences: [{ agent, part: "tool", name: tool, role: "nested", state: "changed", differs: ["agent"] }]
  })

/** Explains the snapshot of an agent that waits within a call. */
const explainedWithin = (
  program: Program,
  around: Checkpoint,
  { callId, snapshot }: NestedRun
): Effect.Effect<Explanation, never, unknown> => {
  const name = around.round?.calls.find(({ id }) => id === callId)?.name
  const explains = toolNamed(program, around, name)?.explains
  return explains === undefined
    ? Effect.succeed({ ...explainRefused(noAgent(program.name, name)), parts: [] })
    : explains(snapshot)
}

/** A program that can be started and resumed. */
export const programKind = (program: Program, declaration: Limits<unknown>): Kind => {
  const { name } = program
  const skills = program.skills.map(({ skill }) => skill.name)
  /** True if the result of a decision fits. */
  const resultFits = (
    snapshot: Snapshot,
    tool: string,
    decision: Decision
  ): Effect.Effect<unknown, DecisionRefused, unknown> =>
    decision._tag !== "Respond"
      ? Effect.void
      : Effect.flatMap(withRequestTools(toolsWith(program, snapshot.skill), snapshot.requestTools), ({ byName }) => {
        const found = byName.get(tool)?.tool
        return found === undefined ? Effect.void : readResult(found, decision)
      })
  /** True if an agent that is a tool can resume with the decision. */
  const goesOn = (
    around: Snapshot,
    tool: string | undefined,
    { callId, snapshot }: NestedRun,
    decisions: ReadonlyArray<Decision>
  ) => {
    const resumes = toolNamed(program, around, tool)?.resumes
    return resumes === undefined ? Effect.fail(noAgent(name, tool)) : about(callId, resumes(snapshot, decisions))
  }
  const kind: Kind = {
    name,
    mayAsk: program.mayAsk,
    fingerprint: () => describeTools(toolsOf(program)),
    parts: (checkpoint) =>
      Effect.map(toolsAt(program, checkpoint), ({ byName }) => ({
        tools: [...byName.values()].map(({ tool }) => tool),
        skills
      })),
    explainWithin: (around, nested) => explainedWithin(program, around, nested),
    fits: Effect.fnUntraced(function*(snapshot: Snapshot, byCall, decisions) {
      const { round } = snapshot
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
        const info = toolNamed(program, snapshot, own.get(callId))?.info
        return info !== undefined && (info.passesKey || info.effects === "read" || info.effects === "idempotent")
      })
    },
    shouldCompensate: (snapshot, isLeft) => {
      const { round } = snapshot
      return compensatesOwn(declaration.compensates, snapshot, isLeft) ||
        round?.nested?.some((run) => {
            const { name } = round.calls.find(({ id }) => id === run.callId)!
            return toolNamed(program, snapshot, name)?.shouldCompensate?.(run.snapshot as never, isLeft) === true
          }) === true
    },
    drive: (from, mode, input) => runProgram(program, kind, declaration, from, mode, input)
  }
  return kind
}
