/** Types of runs without a model: `Agent.forCalls`, `ToolRun.make` and `ToolRun.open` have the same options and services. */
import type * as Types from "effect/Types"
import type { HookServices, Inferred } from "../../foundation/options/inferredOptions.ts"
import type { OnlyKnown } from "../../foundation/options/misspeltName.ts"
import type * as Tool from "../../tool/tool.ts"
import type { Compensating } from "../compensation/compensationOptions.ts"
import type { CompensationServices } from "../hookTypes.ts"
import type { CallTypes, OnlyOwnTools } from "../options.ts"

/**
 * The options of a run of calls. `Base` are those of its function, `Name` their names, `O` is the inferred type.
 *
 * @category utility types
 * @since 0.2.0
 */
export type CallRunOptions<Base, Name, Tools extends Tool.List, O> =
  & Base
  & Compensating<CompensationServices<O>>
  & OnlyOwnTools<Types.NoInfer<O>, undefined, Tools[number]["name"] | `${Tools[number]["name"]}_status`>
  & Inferred<O>
  & OnlyKnown<O, Name>

/**
 * The services of a run of calls.
 *
 * @category utility types
 * @since 0.2.0
 */
export type CallRunServices<Tools extends ReadonlyArray<Tool.Any>, O> =
  | CallTypes<Tools[number], {}, O>["services"]
  | HookServices<O, "onBudgetExceeded">
  | CompensationServices<O>
