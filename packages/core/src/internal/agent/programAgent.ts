/** Agents of programs: common parts of agents that run tool calls, with a model or without one. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Budget, type BudgetExceeded, caps, type Extension } from "../../Budget.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import type * as Policy from "../../Policy.ts"
import { type OnTainted, policy as quarantine } from "../../Quarantine.ts"
import { aTimeLimit, checkOptions } from "../foundation/options/optionCheck.ts"
import { inputWriter } from "../loop/inputText.ts"
import { outputReader } from "../loop/outputText.ts"
import type { Program } from "../loop/program.ts"
import { toolSet } from "../loop/tools/toolSet.ts"
import type { AnyPolicy, Defaults } from "../recovery/policy.ts"
import { agentTools } from "../tool/agentTool.ts"
import type * as Skill from "../tool/skill.ts"
import type * as Tool from "../tool/tool.ts"
import { fromExecute, named } from "./agent.ts"
import { type Compensates, compensatesOf, type Compensating } from "./compensation/compensationOptions.ts"
import type { Described } from "./modelAgent.ts"
import { ownToolsOnly } from "./ownTools.ts"
import type { Limits } from "./runMode.ts"
import { failIfPaused, resumable } from "./resume/resumableRun.ts"
import { programKind, toolsOf } from "./programRun.ts"

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
  return Object.assign(
    fromExecute(
      name,
      (input: unknown, mode) => Effect.flatMap(kind.drive({ input }, mode, input), failIfPaused(name)),
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
