/** `Agent.make`: agents that are a model with tools. */
import * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { ownToolsOnly } from "./ownTools.ts"
import { inputWriter } from "../loop/inputText.ts"
import type { AnyAnswerGuard, AnyGuard } from "../../Guardrail.ts"
import type { Program } from "../loop/program.ts"
import { defaultMaxTools } from "../loop/tools/toolSearch.ts"
import { toolSet } from "../loop/tools/toolSet.ts"
import { outputReader } from "../loop/outputText.ts"
import { type AgentTool, agentTools, type RecoverOne } from "../tool/agentTool.ts"
import type { OnTainted } from "../../Quarantine.ts"
import type { Inferred } from "../foundation/options/inferredOptions.ts"
import type { OnlyKnown } from "../foundation/options/misspeltName.ts"
import type { OtherNames } from "../foundation/options/foreignOptionNames.ts"
import { refusePrototype } from "../foundation/options/plainTable.ts"
import type { AnyPolicy } from "../recovery/policy.ts"
import type * as Skill from "../tool/skill.ts"
import type * as Tool from "../tool/tool.ts"
import { checkAgentOptions } from "./agentOptionKinds.ts"
import { described, type ModelAgent } from "./modelAgent.ts"
import { compensatesOf, type Compensating } from "./compensation/compensationOptions.ts"
import { type Erased, gateOf, namesOf, ofProgram, ownOf, uniqueNames } from "./programAgent.ts"
import type { AllHookErrors, AllHookServices, CompensationServices } from "./hookTypes.ts"
import type { OneTable, OnlyOwnTools, Options, RunTypes } from "./options.ts"
import type { TurnOptions } from "./turnOptions.ts"

/**
 * Makes an agent that is a model with tools.
 *
 * Its error type is exact: the model's `AiError`, `BudgetExceeded`, the errors of the options that are set
 * (`InvalidInput` of `input`, `InvalidOutput` of `output`, `SkillNotChosen` of `skills`), and every error that a tool's
 * own recovery, `onToolError` and `defaults` leave. An optional handler handles no error in the type. Throws
 * `ConfigurationError` for faults that types cannot catch: two tools of one name, a recovery or a policy for a missing
 * tool, a negative budget.
 *
 * **Example** (An agent with one tool)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Add = Tool.make("add", {
 *   parameters: Schema.Struct({ a: Schema.Number, b: Schema.Number }),
 *   success: Schema.Number,
 *   effects: "read",
 *   execute: ({ a, b }) => Effect.succeed(a + b)
 * })
 *
 * const adder = Agent.make("adder", {
 *   instructions: "Add with the tool.",
 *   output: Schema.Number,
 *   tools: [Add],
 *   defaults: { onError: Recovery.standard },
 *   budget: { turns: 4 }
 * })
 *
 * await Effect.runPromise(
 *   adder.run("What is 2 + 3?").pipe(
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.call("add", { a: 2, b: 3 }), ScriptedModel.text("5")]))
 *   )
 * ) // => 5
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
// oxlint-disable-next-line max-lines-per-function -- the defaults of a declaration, read once, are shared by all that the agent does
export const make = <
  Input extends Schema.Top = typeof Schema.String,
  Output extends Schema.Top = typeof Schema.String,
  const Tools extends Tool.List = readonly [],
  const Skills extends ReadonlyArray<Skill.Any> = readonly [],
  H = {},
  const Q extends OnTainted | undefined = OnTainted | undefined,
  O = {}
>(
  name: string,
  options:
    & Options<Input, Output, Tools, Skills, H, O>
    & TurnOptions<Input["Type"], Types.NoInfer<(Tools[number] | Skills[number]["tools"][number])["name"]>, O>
    & Compensating<CompensationServices<O>>
    & { readonly onTainted?: Q }
    & OneTable<Types.NoInfer<O>, Types.NoInfer<H>>
    & OnlyOwnTools<
      Types.NoInfer<O>,
      Types.NoInfer<Q>,
      | (Tools[number] | Skills[number]["tools"][number])["name"]
      | `${(Tools[number] | Skills[number]["tools"][number])["name"]}_status`
    >
    & Inferred<O>
    & OnlyKnown<
      O,
      keyof Options<never, never, [], [], {}> | keyof TurnOptions<never, never> | keyof Compensating<never>,
      OtherNames["agent"]
    >
): ModelAgent<
  Types.NoInfer<Input>,
  Types.NoInfer<Output>,
  | RunTypes<Tools[number] | Skills[number]["tools"][number], H, O>["error"]
  | AllHookErrors<O>,
  | RunTypes<Tools[number] | Skills[number]["tools"][number], H, O>["services"]
  | Input["EncodingServices"]
  | Output["DecodingServices"]
  | AllHookServices<O>,
  RunTypes<Tools[number] | Skills[number]["tools"][number], H, O>["pause"]
> => {
  checkAgentOptions(name, options)
  const tools: ReadonlyArray<Tool.Any> = (options.tools ?? []) as never
  const skills = options.skills ?? []
  for (const skill of skills) uniqueNames(name, namesOf([...tools, ...skill.tools]))
  uniqueNames(name, namesOf(tools))
  uniqueNames(`${name}, skills`, skills.map((skill) => skill.name))

  const recoveries = (options.onToolError ?? {}) as Readonly<Record<string, RecoverOne>>
  refusePrototype(`Agent "${name}", onToolError`, recoveries)
  const known = new Set([...tools, ...skills.flatMap((skill) => skill.tools)].map((tool) => tool.name))
  for (const recovered of Object.keys(recoveries)) {
    if (!known.has(recovered)) {
      throw new ConfigurationError({
        subject: `Agent "${name}"`,
        problem: `onToolError names "${recovered}", which is none of its tools`
      })
    }
  }
  for (const limit of ["repeatedFailures", "repeatedCalls"] as const) {
    const times = options[limit]
    if (times !== undefined && times !== Infinity && !(Number.isInteger(times) && times > 0)) {
      throw new ConfigurationError({
        subject: `Agent "${name}"`,
        problem: `${limit} must be an integer > 0, or Infinity`
      })
    }
  }
  const { maxTools = defaultMaxTools } = options
  if (maxTools !== Infinity && !(Number.isInteger(maxTools) && maxTools > 2)) {
    throw new ConfigurationError({
      subject: `Agent "${name}"`,
      problem: "maxTools must be an integer > 2, or Infinity"
    })
  }
  ownToolsOnly(name, options, namesOf([...tools, ...skills.flatMap((skill) => skill.tools)]))
  const gate = gateOf(name, allTools(tools, skills), options)
  const policy = options.defaults?.onError as (Erased & AnyPolicy) | undefined
  const compile = (tool: Tool.Any): ReadonlyArray<AgentTool> =>
    agentTools(tool, Object.hasOwn(recoveries, tool.name) ? recoveries[tool.name] : undefined, policy)
  const { input = Schema.String, output = Schema.String } = options as {
    readonly input?: Input | undefined
    readonly output?: Output | undefined
  }

  const { skill } = options
  const program: Program = {
    name,
    instructions: options.instructions,
    input: inputWriter(name, input),
    prompt: options.prompt,
    output: outputReader(output),
    tools: toolSet(tools.flatMap(compile)),
    compile,
    given: undefined,
    skills: skills.map((skill) => ({ skill, tools: toolSet([...tools, ...skill.tools].flatMap(compile)) })),
    chooseSkill: typeof skill === "string" ? () => skill : skill,
    prepareTurn: options.prepareTurn,
    compaction: compactionOf(name, options.compact),
    guardInput: options.guardInput as AnyGuard | undefined,
    guardOutput: options.guardOutput as AnyAnswerGuard | undefined,
    onModelError: options.onModelError,
    concurrency: options.concurrency ?? 8,
    repeatedFailures: options.repeatedFailures ?? 3,
    repeatedCalls: options.repeatedCalls ?? 4,
    maxTools,
    ...gate
  }
  const compensates = compensatesOf(name, options.compensation, ownOf(name, tools, skills))
  return ofProgram(program, { ...options as object, compensates }, described(input, output)) as never
}

/** Compaction of a long conversation. Throws for an invalid limit. */
const compactionOf = (
  name: string,
  compact: Pick<Program["compaction"] & {}, "by"> & { readonly maxTokens?: number | undefined } | undefined
): Program["compaction"] => {
  if (compact === undefined) return undefined
  const { by, maxTokens } = compact
  if (maxTokens !== undefined && !(maxTokens > 0)) {
    throw new ConfigurationError({ subject: `Agent "${name}"`, problem: "compact.maxTokens must be more than 0" })
  }
  return { by, maxTokens }
}

const allTools = (tools: ReadonlyArray<Tool.Any>, skills: ReadonlyArray<Skill.Any>): ReadonlyArray<Tool.Any> => [
  ...tools,
  ...skills.flatMap((skill) => skill.tools)
]
