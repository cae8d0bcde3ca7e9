/** Agents of programs: agents that run tool calls, with a model or without one, and their runs, which can be started, paused and resumed. */
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Budget, type BudgetExceeded, caps, type Extension } from "../../Budget.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import type * as Policy from "../../Policy.ts"
import { type OnTainted, policy as quarantine } from "../../Quarantine.ts"
import { anObject, aTimeLimit, checkArgument, checkOptions } from "../foundation/options/optionCheck.ts"
import { checkName } from "../foundation/options/checkName.ts"
import { inputWriter } from "../loop/inputText.ts"
import { outputReader } from "../loop/outputText.ts"
import { type Program, toolsWith } from "../loop/program.ts"
import { toolSet } from "../loop/tools/toolSet.ts"
import type { AnyPolicy, Defaults } from "../recovery/policy.ts"
import { agentTools } from "../tool/agentTool.ts"
import type * as Skill from "../tool/skill.ts"
import type * as Tool from "../tool/tool.ts"
import { fromExecute, named } from "./agent.ts"
import { someTools } from "./agentOptionKinds.ts"
import { type Compensates, compensatesOf, type Compensating } from "./compensation/compensationOptions.ts"
import type { Described } from "./modelAgent.ts"
import { ownToolsOnly } from "./ownTools.ts"
import type { Body } from "./runBody.ts"
import type { Limits, Mode } from "./runMode.ts"
import { about, driven, failIfPaused, resumable } from "./resume/resumableRun.ts"
import type { Decision } from "../approval/decision.ts"
import { describeTools, type Parts } from "../approval/compareParts.ts"
import type { Explanation } from "../approval/definitions.ts"
import { type DecisionRefused, SnapshotRefused } from "../approval/outcome.ts"
import type { SnapshotKey } from "../approval/snapshotKey.ts"
import type { Checkpoint, NestedRun, Snapshot } from "../approval/snapshot.ts"
import { loop, type Start } from "../loop/loop.ts"
import { toolsAt } from "../loop/tools/checkpointTools.ts"
import { withRequestTools } from "../loop/tools/requestTools.ts"
import { decisionsWithin } from "../round/resume/nestedPauses.ts"
import { presentationOf } from "../result/delivery.ts"
import { readResult } from "../round/resume/resumeCall.ts"
import { Session } from "../run/session.ts"
import { messagesAt } from "./resume/pausedConversation.ts"
import { explainRefused } from "./resume/explainSnapshot.ts"
import { compensatesOwn } from "./resume/resumeRun.ts"
import type { Driven, Kind } from "./resume/agentKind.ts"

/** The tools of a program, those of its skills with them. */
export const toolsOf = ({ skills, tools }: Program): ReadonlyArray<Tool.Any> => [
  ...new Set(
    [tools, ...skills.map(({ tools }) => tools)].flatMap(({ byName }) => [...byName.values()])
      .map(({ tool }) => tool)
  )
]

/** Returns the tools of a run, in their present state. */
const partsOf = ({ tools: { byName } }: Session): Parts => ({ tools: [...byName.values()].map(({ tool }) => tool) })

/** Runs a program within its boundary. */
const runProgram = (
  program: Program,
  kind: Kind,
  declaration: Limits<unknown>,
  from: Start,
  mode: Mode,
  input: unknown
): Effect.Effect<Driven, unknown, unknown> =>
  Effect.contextWith((context: Context.Context<SnapshotKey>) => {
    const session = new Session()
    const checkpoint = "checkpoint" in from ? from.checkpoint : undefined
    const withdraw = () => {
      const { withdraw = Effect.void } = session
      session.withdraw = undefined
      return withdraw
    }
    const body: Body<unknown, unknown, unknown> = {
      run: (run, services) => loop(program, from, run, session, services),
      // The conversation at the pause is the run's own until the run resumes.
      said: (run, ambient) =>
        session.isResumable || checkpoint === undefined
          ? session.said()
          : messagesAt(checkpoint, run, presentationOf(ambient)),
      resumable: (run) =>
        // Compensated calls are not resumed.
        session.isResumable && !run.writes.isCompensating
          ? { checkpoint: () => session.checkpoint(run, undefined), parts: () => partsOf(session) }
          : undefined,
      onCompensated: ({ root, tool }, mark) => session.transcript.undone(root, tool, mark)
    }
    return driven(context, { kind, withdraw, body }, declaration, mode, input)
  })

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
const programKind = (program: Program, declaration: Limits<unknown>): Kind => {
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

/** A recovery, with its types forgotten. */
export type Erased = (call: Effect.Effect<unknown, unknown, unknown>) => Effect.Effect<unknown, unknown, unknown>

export const namesOf = (tools: ReadonlyArray<Tool.Any>): ReadonlyArray<string> =>
  tools.flatMap((tool) => tool.status === undefined ? [tool.name] : [tool.name, tool.status.name])

export const uniqueNames = (agent: string, names: ReadonlyArray<string>): void => {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) {
    throw new ConfigurationError({ subject: `Agent "${agent}"`, problem: `there are two tools named "${twice}"` })
  }
}

/** Tools as those of an agent. */
export const ownOf = (
  agent: string,
  tools: ReadonlyArray<Tool.Any>,
  skills: ReadonlyArray<Skill.Any> = []
): ReadonlyArray<Tool.Own> => [
  ...tools.map((tool) => ({ agent, tool })),
  ...skills.flatMap(({ name: skill, tools }) => tools.map((tool) => ({ agent, skill, tool })))
]

/** A time without an end, which JSON cannot represent: half of the greatest `Date`, in milliseconds. */
const forever = 8.64e15 / 2

const approvalOptions = { kinds: { timeToLive: aTimeLimit }, otherNames: {} }

interface GateOptions {
  readonly onTainted?: OnTainted | undefined
  readonly policies?: ReadonlyArray<Policy.Any> | undefined
  readonly approval?: { readonly timeToLive: Duration.Input } | undefined
  readonly resultLimit?: number | undefined
}

/** True if an agent's type includes a pause, because of a policy, a tool, or its rule for tainted runs. */
const mayAsk = (tools: ReadonlyArray<Tool.Any>, { onTainted, policies = [] }: GateOptions): boolean =>
  policies.some(({ mayRequestApproval }) => mayRequestApproval) ||
  tools.some(({ info, runsAgentWithApprovals }) =>
    info.approval.isNeeded !== undefined || info.approval.mayBeRequested === true || runsAgentWithApprovals === true
  ) ||
  (onTainted === undefined ? tools.some(({ info }) => info.results.areUntrusted) : onTainted !== "deny")

/**
 * Returns the steps between a call and its executor, and between its result and its reader. Throws for an invalid
 * limit.
 */
export const gateOf = (
  name: string,
  tools: ReadonlyArray<Tool.Any>,
  options: GateOptions
): Pick<Program, "resultLimit" | "policies" | "quarantine" | "mayAsk" | "approvalTimeToLive"> => {
  const { approval, onTainted = "approve", policies = [], resultLimit } = options
  if (resultLimit !== undefined && !(resultLimit > 0)) {
    throw new ConfigurationError({ subject: `Agent "${name}"`, problem: "resultLimit must be more than 0" })
  }
  if (approval !== undefined) checkOptions(`Agent "${name}"`, approval, approvalOptions, "approval.")
  return {
    resultLimit,
    policies,
    quarantine: (canPause) => quarantine(onTainted, canPause),
    mayAsk: mayAsk(tools, options),
    approvalTimeToLive: Math.min(Duration.toMillis(approval?.timeToLive ?? "24 hours"), forever)
  }
}

/** The agent that runs a program within its budget. It pauses, and can be resumed. */
export const ofProgram = (
  program: Program,
  { budget = {}, compensates, onBudgetExceeded }: {
    readonly compensates?: Compensates | undefined
    readonly budget?: Budget | undefined
    readonly onBudgetExceeded?:
      | ((error: BudgetExceeded) => Effect.Effect<Extension | undefined, never, unknown>)
      | undefined
  },
  description?: Described<Schema.Top, Schema.Top>
) => {
  const { name, skills } = program
  const declaration: Limits<unknown> = {
    name: named(name),
    caps: caps(`Agent "${name}"`, budget),
    thresholds: budget.thresholds,
    isLevel: true,
    onExceeded: onBudgetExceeded,
    compensates
  }
  const kind = programKind(program, declaration)
  const tools = toolsOf(program)
  const own = ownOf(name, [...program.tools.byName.values()].map(({ tool }) => tool), skills.map(({ skill }) => skill))
  const ownTools = () => own
  const unlessPaused = failIfPaused(name)
  return Object.assign(
    fromExecute(
      name,
      (input: unknown, mode) => Effect.flatMap(kind.drive({ input }, mode, input), unlessPaused),
      { tools, ownTools, budget }
    ),
    resumable(kind),
    description
  )
}

/** Options of an agent that runs given calls. */
interface CallsOptions extends GateOptions, Compensating<unknown> {
  readonly tools: ReadonlyArray<Tool.Any>
  readonly defaults?: Defaults | undefined
}

/** The agent without a model that runs given calls. `program`: its parts that differ from those of others. */
export const ofCalls = (
  name: string,
  options: CallsOptions,
  program: Partial<Program> & Pick<Program, "given">
) => {
  checkName("Agent.forCalls", "agent", "tools", name)
  checkArgument(`Agent "${name}"`, "its options", options, anObject)
  checkArgument(`Agent "${name}"`, "tools", options.tools, someTools)
  const { tools } = options
  uniqueNames(name, namesOf(tools))
  ownToolsOnly(name, options as never, namesOf(tools))
  const policy = options.defaults?.onError as (Erased & AnyPolicy) | undefined
  const whole: Program = {
    name,
    instructions: undefined,
    input: inputWriter(name, Schema.Unknown),
    prompt: undefined,
    output: outputReader(Schema.String),
    tools: toolSet(tools.flatMap((tool) => agentTools(tool, undefined, policy))),
    skills: [],
    chooseSkill: undefined,
    prepareTurn: undefined,
    compaction: undefined,
    onModelError: undefined,
    concurrency: 1,
    repeatedFailures: Number.POSITIVE_INFINITY,
    repeatedCalls: Number.POSITIVE_INFINITY,
    maxTools: Number.POSITIVE_INFINITY,
    ...gateOf(name, tools, options),
    ...program
  }
  const compensates = compensatesOf(name, options.compensation, ownOf(name, tools))
  return ofProgram(whole, { ...options as object, compensates })
}
