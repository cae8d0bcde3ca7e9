/** Options of `Agent.make`, and the error and service types that follow from them. */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import type * as AiError from "effect/ai/AiError"
import type { InvalidInput, InvalidOutput, SkillNotChosen } from "../../AgentError.ts"
import type { ApprovalRequired } from "../approval/outcome.ts"
import type { SnapshotKey } from "../approval/snapshotKey.ts"
import type { Budget, BudgetExceeded, Extension } from "../../Budget.ts"
import type * as ModelError from "../model/modelDecision.ts"
import type * as Policy from "../../Policy.ts"
import type { AnswerGuard, Guard } from "../../Guardrail.ts"
import type { AllowedBy, OnTainted } from "../../Quarantine.ts"
import type { AfterDefaults, DefaultOf, Defaults, PolicyServices } from "../recovery/policy.ts"
import type { HookError, HookServices, OptionOf } from "../foundation/options/inferredOptions.ts"
import type { Misspelt, OnlyKnown } from "../foundation/options/misspeltName.ts"
import type { Compensating } from "./compensation/compensationOptions.ts"
import type { TurnOptionName } from "./turnOptions.ts"
import type { Among } from "../foundation/errorTags.ts"
import type * as Skill from "../tool/skill.ts"
import type * as Tool from "../tool/tool.ts"
import type { ToolCall } from "../call/call.ts"
import type { Escalation, InvalidResult, NotApproved, NotApprovedOnceTainted, Pending } from "../../ToolError.ts"

/**
 * The tools of a list that may have a name: the one that has it, and all whose names are not known.
 *
 * @category utility types
 * @since 0.2.0
 */
export type NamedTool<T extends Tool.Any, Name> = T extends Tool.Any ? Name extends T["name"] ? T : never : never

/**
 * Errors that a tool leaves to the agent. A tool of unknown name may be any named one, or none.
 *
 * @category utility types
 * @since 0.2.0
 */
export type AfterAgent<T extends Tool.Any, H, O> = T extends Tool.Any ?
  T["name"] extends infer Name extends string ? Name extends keyof H ?
        | Effect.Error<H[Name]>
        | ((O extends Record<"onToolError", infer TE> ? [TE] extends [Record<Name, {}>] ? true : false : false) extends
          true ? Among<Tool.Error<T>, Tool.BehindRecovery> : Tool.Error<T>)
    : Tool.Error<T> | (string extends Name ? Effect.Error<H[keyof H]> : never)
  : never
  : never

/**
 * Services of a tool within the agent. Recovery may provide them, except for those of its results.
 *
 * @category utility types
 * @since 0.2.0
 */
export type NeededBy<T extends Tool.Any, H, O> = T extends Tool.Any
  ? T["name"] extends keyof H ?
    (O extends Record<"onToolError", infer TE> ? [TE] extends [Record<T["name"], {}>] ? true : false : false) extends
      true ? T["success"]["EncodingServices"] | T["success"]["DecodingServices"] : Tool.Services<T>
  : Tool.Services<T>
  : never

/**
 * The policies of an agent's options.
 *
 * @category utility types
 * @since 0.2.0
 */
export type PolicyOf<O> = OptionOf<O, "policies"> extends infer Policies ?
  Policies extends ReadonlyArray<infer P> ? P : never
  : never

/**
 * Reasons for which an agent may wait for an approval: its tools, its `onTainted`, its policies. `never` if there is none.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Asks<T extends Tool.Any, O> =
  | Exclude<
    Among<Tool.Error<T>, NotApproved>,
    ([O] extends [Record<"onTainted", "deny">] ? NotApprovedOnceTainted : never)
  >
  | Exclude<OptionOf<O, "onTainted">, "deny" | undefined>
  | Extract<Policy.VerdictOf<PolicyOf<O>>, Policy.RequireApproval>

/**
 * Errors and services of tool calls within an agent, without its model.
 *
 * @category models
 * @since 0.2.0
 */
export interface CallTypes<T extends Tool.Any, H, O> {
  /** Errors that its tools' recoveries leave, and its budget. Escalations and pending tasks are results. */
  readonly error:
    | BudgetExceeded
    | Exclude<
      AfterDefaults<
        | AfterAgent<T, H, O>
        // A policy's substitute answer is checked like the tool's own result.
        | ([Extract<Policy.VerdictOf<PolicyOf<O>>, Policy.Substitute>] extends [never] ? never : InvalidResult),
        O
      >,
      Escalation | Pending | NotApproved
    >
  /** Error of `run` when the run waits: none, unless a tool or a policy may request an approval. */
  readonly pause: [Asks<T, O>] extends [never] ? never : ApprovalRequired
  /** Services of its tools, their recoveries and its policies. */
  readonly services:
    | NeededBy<T, H, O>
    | Exclude<Effect.Services<H[keyof H]>, ToolCall>
    | PolicyServices<DefaultOf<O>>
    | Policy.Services<PolicyOf<O>>
    | ([Asks<T, O>] extends [never] ? never : SnapshotKey)
}

/**
 * Errors and services of an agent, derived from its tools, their recoveries and its policies. An interface, because its
 * members are displayed expanded, and not by the name of a computing type.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunTypes<T extends Tool.Any, H, O> {
  /**
   * Errors of the model, of budgets and of the options that are set, and those that its tools' recoveries leave.
   * Escalations and pending tasks are for its model.
   */
  readonly error:
    | AiError.AiError
    | ("input" extends keyof O ? InvalidInput : never)
    | ("output" extends keyof O ? InvalidOutput : never)
    | (Extract<keyof O, "skill" | "skills"> extends never ? never : SkillNotChosen)
    | CallTypes<T, H, O>["error"]
  /** Error of `run` when the run waits: none, unless a tool or a policy may request an approval. */
  readonly pause: CallTypes<T, H, O>["pause"]
  /** Its model, and the services of its tools, their recoveries and its policies. */
  readonly services: LanguageModel.LanguageModel | CallTypes<T, H, O>["services"]
}

/**
 * Recoveries by tool name; `H` has the recovered call of each.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ToolRecoveries<T extends Tool.Any, H> = {
  readonly [N in keyof H]?:
    | ((call: Tool.CallOf<NamedTool<T, N>>, params: Tool.ParamsOf<NamedTool<T, N>>) => H[N])
    | undefined
}

/**
 * Requires that each recovery has the answer type of its tool.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Answering<T extends Tool.Any, H> = {
  readonly [N in keyof H]?: H[N] extends Effect.Effect<Tool.Success<NamedTool<T, N>>, unknown, unknown> ? unknown
    : `The recovery of "${N & string}" has to have the result type of the tool.`
}

/**
 * The names among some that are not known; none if they are any text.
 *
 * @category utility types
 * @since 0.2.0
 */
export type UnknownNames<Names, Known> = Names extends string ? string extends Names ? never : Exclude<Names, Known>
  : never

/**
 * Requires that policies and the rule for tainted runs name tools of the agent: a misspelt name would disable them.
 *
 * @category utility types
 * @since 0.2.0
 */
export type OnlyOwnTools<O, Q, Known> =
  & ([UnknownNames<Policy.NamesOf<PolicyOf<O>>, Known>] extends [never] ? unknown
    : { readonly policies: Misspelt<UnknownNames<Policy.NamesOf<PolicyOf<O>>, Known>, Known> })
  & ([UnknownNames<AllowedBy<Q>, Known>] extends [never] ? unknown
    : { readonly onTainted: Misspelt<UnknownNames<AllowedBy<Q>, Known>, Known> })

/**
 * Requires that recoveries by tool name are one table. Of several, TypeScript would infer the result of the first.
 *
 * @category utility types
 * @since 0.2.0
 */
export type OneTable<O, H> = OptionOf<O, "onToolError"> extends infer Table
  ? [Exclude<Table extends unknown ? keyof Table : never, keyof H>] extends [never] ? unknown
  : {
    readonly onToolError: "onToolError cannot be one of several tables: write `name: condition ? recovery : undefined`"
  }
  : never

/**
 * Options of calls that wait for an approval.
 *
 * @category options
 * @since 0.2.0
 */
export interface ApprovalOptions {
  /** Time limit of a waiting call: a later approval asks again. Default: 24 hours. */
  readonly timeToLive: Duration.Input
}

/**
 * Options of an agent.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options<
  Input extends Schema.Top,
  Output extends Schema.Top,
  Tools extends ReadonlyArray<Tool.Any>,
  Skills extends ReadonlyArray<Skill.Any>,
  H,
  O = {}
> {
  /** The agent's input. Default: a string, which is the user's message; any other value becomes JSON. */
  readonly input?: Input | "input is a Schema of effect, such as Schema.String" | undefined
  /** The conversation that the input becomes, in place of one user message. */
  readonly prompt?: ((input: Input["Type"]) => Prompt.RawInput) | undefined
  /** The agent's output. Default: the text of the model's answer. */
  readonly output?: Output | "output is a Schema of effect, such as Schema.String" | undefined
  /**
   * The tools that its model may call. Default: none. The last types are sentences, which the compiler shows. If `onToolError` spreads
   * a recovery for any call, TypeScript checks it before it knows the tools: then there are none.
   */
  readonly tools?:
    | Tools
    | ([Tools[number]] extends [never]
      ? ReadonlyArray<"onToolError cannot spread a recovery: write `name: condition ? recovery : undefined`">
      : never)
    | { readonly "tools is a list: [First, Second]": never }
    | undefined
  /** Groups of instructions and tools, of which one is chosen for a run: by the model, unless `skill` says otherwise. */
  readonly skills?: Skills | undefined
  /** The skill's name, or a function that returns it. */
  readonly skill?:
    | Skills[number]["name"]
    | ((
      input: Input["Type"]
    ) => Skills[number]["name"] | Effect.Effect<string, HookError<O, "skill">, HookServices<O, "skill">>)
    | undefined
  /** Recovery of single tools, around their own: a function of the call and, as in `Tool.onError`, of its arguments. */
  readonly onToolError?:
    | (
      & OnlyKnown<Types.NoInfer<H>, (Tools[number] | Skills[number]["tools"][number])["name"]>
      & ToolRecoveries<Tools[number] | Skills[number]["tools"][number], H>
      & Answering<Tools[number] | Skills[number]["tools"][number], Types.NoInfer<H>>
    )
    | undefined
  /** Recovery of all tools, around everything else. */
  readonly defaults?: Defaults | undefined
  /**
   * Checks the input in parallel to the first model request: passes it, changes it by `Guardrail.change`, or ends the
   * run with an error of its own. Until it has passed, no part of the model's answer is emitted, and no call runs.
   */
  readonly guardInput?: Guard<Input["Type"], HookError<O, "guardInput">, HookServices<O, "guardInput">> | undefined
  /**
   * Checks the final answer before it is emitted: passes it, changes it by `Guardrail.change`, or ends the run. It also
   * receives the transcript; `History.claims` reports the completed calls of it.
   */
  readonly guardOutput?:
    | AnswerGuard<NoInfer<Output>["Type"], HookError<O, "guardOutput">, HookServices<O, "guardOutput">>
    | undefined
  /** Handler of failed model calls. Default: `ModelError.rethrow`. */
  readonly onModelError?:
    | ModelError.Handler<NoInfer<Output>["Type"], HookError<O, "onModelError">, HookServices<O, "onModelError">>
    | undefined
  /** Caps of the run. Default: 50 turns, 8 levels, 262,144 characters of arguments; see `Budget.unlimited`. */
  readonly budget?: Budget | undefined
  /** Policies about each call before it runs. Each gives a verdict; the strictest wins. */
  readonly policies?: ReadonlyArray<Policy.Any> | undefined
  /** Rights of a run once it has read the answer of an untrusted tool. Default: `"approve"`. */
  readonly onTainted?: OnTainted | undefined
  /** Options of waiting calls. */
  readonly approval?: ApprovalOptions | undefined
  /** Called when a cap is reached: with `Budget.extend` the run continues, with `undefined` it ends. */
  readonly onBudgetExceeded?:
    | ((error: BudgetExceeded) => Effect.Effect<Extension | undefined, never, HookServices<O, "onBudgetExceeded">>)
    | undefined
  /** Number of calls of one answer that run at the same time. Default: 8. */
  readonly concurrency?: number | "unbounded" | undefined
  /**
   * Number of equal failures of the same call after which the model is instructed to stop; a success of the call resets
   * the count. Default: 3.
   */
  readonly repeatedFailures?: number | undefined
  /**
   * How often the same call may give the same result while no other call gives a new one: after that it is not made, and the model
   * is notified. It notices a call that is repeated, and calls that take turns. Not counted for tools with `allowIdenticalCalls`. `Infinity` is no limit.
   * Default: 4.
   */
  readonly repeatedCalls?: number | undefined
  /**
   * The most tools that one request offers. An agent with more offers its first ones and a tool `find_tools`, by which the model finds
   * the others: those are offered from the next request on. `Infinity` is no limit; the least is 3. Default: 128, which is
   * the most that common servers take.
   */
  readonly maxTools?: number | undefined
  /**
   * Number of characters of a tool's result that the model reads: of a longer one it receives the beginning, and advice
   * to request less. A tool's own `resultLimit` has precedence; `Infinity` is no limit. Default: 32,768.
   */
  readonly resultLimit?: number | undefined
}

/** The names of options. */
export type OptionName =
  | keyof Options<never, never, [], [], {}>
  | TurnOptionName
  | keyof Compensating<never>
