/** `Agent.forCalls`: agents without a model, which run the calls of another program. */
import type * as Effect from "effect/Effect"
import type { Budget, BudgetExceeded, Extension } from "../../../Budget.ts"
import type * as Policy from "../../../Policy.ts"
import type { OnTainted } from "../../../Quarantine.ts"
import type { HookServices } from "../../foundation/options/inferredOptions.ts"
import { answerCall, answerOf, type CallAnswer, type GivenCall } from "../../loop/singleCall.ts"
import type { Defaults } from "../../recovery/policy.ts"
import type * as Tool from "../../tool/tool.ts"
import type { Agent } from "../agent.ts"
import type { Compensating } from "../compensation/compensationOptions.ts"
import { ofCalls } from "../programAgent.ts"
import type { ApprovalOptions, CallTypes } from "../options.ts"
import type { Resumable } from "../resume/resumableRun.ts"
import type { CallRunOptions, CallRunServices } from "./callRunTypes.ts"

/**
 * Options of an agent without a model: as the options of `Agent.make` with these names.
 *
 * @category options
 * @since 0.2.0
 */
export interface ForCallsOptions<Tools extends ReadonlyArray<Tool.Any>, O = {}> {
  /** The tools that can be called. */
  readonly tools: Tools
  /** Recovery of all tools, around their own. */
  readonly defaults?: Defaults | undefined
  /** For each call. */
  readonly budget?: Budget | undefined
  /** Policies about each call before it runs. Each gives a verdict; the strictest wins. */
  readonly policies?: ReadonlyArray<Policy.Any> | undefined
  /** Rule for a call once it has read, within itself, the answer of an untrusted tool. Default: `"approve"`. */
  readonly onTainted?: OnTainted | undefined
  /** Options of waiting calls. */
  readonly approval?: ApprovalOptions | undefined
  /** Called when a cap is reached: with `Budget.extend` the call continues, with `undefined` it ends. */
  readonly onBudgetExceeded?:
    | ((error: BudgetExceeded) => Effect.Effect<Extension | undefined, never, HookServices<O, "onBudgetExceeded">>)
    | undefined
  /** Number of characters of a result that are shown; the whole is in `structured`. Default: 32,768. */
  readonly resultLimit?: number | undefined
}

/**
 * Makes an agent without a model: each run receives one call of a tool and answers with its result, as a model would
 * read it. For calls of other callers: of a client of a server, or of the loop of another library. A call has all
 * features of a run: recovery, budget, policies, approvals, events, spans, audit, redaction, quarantine.
 *
 * Errors that a tool's recovery leaves are errors of the run, as for `Agent.make`. The run's record contains the text
 * for a model. Throws `ConfigurationError` for two tools of one name.
 *
 * **Example** (A call that does not come from a model)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 *
 * const Double = Tool.make("double", {
 *   parameters: Schema.Struct({ n: Schema.Number }),
 *   success: Schema.Number,
 *   execute: ({ n }) => Effect.succeed(n * 2)
 * })
 * const tools = Agent.forCalls("tools", { tools: [Double], defaults: { onError: Recovery.standard } })
 * const call = (args: unknown) =>
 *   Effect.runPromise(tools.run({ id: "call_1", name: "double", arguments: args }))
 *
 * const { structured } = await call({ n: 21 })
 * const { isFailure } = await call({ n: "21" })
 * structured // => 42
 * isFailure // => true
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const forCalls = <
  const Tools extends Tool.List,
  O = {}
>(
  name: string,
  options: CallRunOptions<
    ForCallsOptions<Tools, O>,
    keyof ForCallsOptions<[]> | keyof Compensating<0>,
    Tools,
    O
  >
):
  & Agent<GivenCall, CallAnswer, CallTypes<Tools[number], {}, O>["error" | "pause"], CallRunServices<Tools, O>>
  & Resumable<GivenCall, CallAnswer, CallTypes<Tools[number], {}, O>["error"], CallRunServices<Tools, O>> =>
  ofCalls(name, options as never, {
    given: { run: (state, input) => answerCall(state, input as GivenCall), answer: answerOf }
  }) as never
