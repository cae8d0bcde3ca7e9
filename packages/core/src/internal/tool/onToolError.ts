/** `Tool.onError`: a tool's own recovery. */
import type * as Effect from "effect/Effect"
import * as Function from "effect/Function"
import type * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import type { ToolCall } from "../call/call.ts"
import { parametersOf } from "../call/execute/lastParameters.ts"
import type { Among } from "../foundation/errorTags.ts"
import { fromRecovered, insideRecovery } from "./checkResult.ts"
import { checkArgument } from "../foundation/options/optionCheck.ts"
import { type Any, type BehindRecovery, isTool, type Params, type Tool } from "./tool.ts"
import { recoveryOf } from "../foundation/options/hookResult.ts"

/**
 * Declares a tool's own recovery: any function from the call to an Effect.
 *
 * The call may be run again (by `Effect.retry`, by a fixer); each run is another attempt of the same call and is charged
 * to the run's budget. `InvalidResult` is not visible here: results are checked behind all recovery, so that a write
 * that succeeded with a badly shaped result is not run again.
 *
 * `params` are the last decoded arguments, the model's own or a fixer's: for a fallback that depends on them. They fail
 * with `InvalidArgs` if none fitted, and for a call of the tool's `status`. `Recovery.fallback`, `catchReason` and
 * `catchReasons` pass them to their functions.
 *
 * **Example** (The price of yesterday, for the same article)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * const yesterday = new Map([["tea", 3]])
 * const Price = Tool.make("price", {
 *   parameters: Schema.Struct({ article: Schema.String }),
 *   success: Schema.Number,
 *   effects: "read",
 *   execute: () => Effect.fail("down" as const)
 * }).pipe(
 *   Tool.onError(
 *     Recovery.fallback("ExecutionError", (error, params) =>
 *       Effect.map(params, ({ article }) => yesterday.get(article) ?? error.causes.length))
 *   )
 * )
 *
 * await Effect.runPromise(
 *   Price.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { article: "tea" } })))
 * ) // => 3
 * ```
 *
 * **Example** (Retrying a timeout, and answering 0 after that)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Slow = Tool.make("slow", {
 *   success: Schema.Int,
 *   effects: "read",
 *   timeout: "5 millis",
 *   execute: () => Effect.never
 * }).pipe(
 *   Tool.onError((call) =>
 *     call.pipe(
 *       Effect.retry({ times: 2, while: (error) => error._tag === "Timeout" }),
 *       Effect.catchTag("Timeout", (error) => Effect.succeed(error.causes.length))
 *     )
 *   )
 * )
 *
 * await Effect.runPromise(
 *   Slow.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })))
 * ) // => 3
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const onError: {
  <Name extends string, Parameters extends Schema.Top, S extends Schema.Top, E, R, E2, R2>(
    recover: (
      call: Effect.Effect<S["Type"], Exclude<E, BehindRecovery>, ToolCall | R>,
      params: Params<Parameters>
    ) => Effect.Effect<S["Type"], E2, R2> | { readonly "a recovery has the result type of its tool": never }
  ): (
    self: Tool<Name, Parameters, S, E, R>
  ) => Tool<
    Name,
    Parameters,
    S,
    Types.NoInfer<E2 | Among<E, BehindRecovery>>,
    Exclude<R2, ToolCall> | S["EncodingServices"] | S["DecodingServices"]
  >
  <Name extends string, Parameters extends Schema.Top, S extends Schema.Top, E, R, E2, R2>(
    self: Tool<Name, Parameters, S, E, R>,
    recover: (
      call: Effect.Effect<S["Type"], Exclude<E, BehindRecovery>, ToolCall | R>,
      params: Params<Parameters>
    ) => Effect.Effect<S["Type"], E2, R2> | { readonly "a recovery has the result type of its tool": never }
  ): Tool<
    Name,
    Parameters,
    S,
    Types.NoInfer<E2 | Among<E, BehindRecovery>>,
    Exclude<R2, ToolCall> | S["EncodingServices"] | S["DecodingServices"]
  >
} = Function.dual(
  2,
  (self: Any, recover: (call: Any["recovered"], params: Any["recovered"]) => Any["recovered"]): Any => {
    checkArgument("Tool.onError", "its tool", self, {
      is: isTool,
      called: "a tool, such as Tool.make(\"weather\", { ... })"
    })
    const params = parametersOf(self.parameters)
    const recovered = (tool: Any) => recoveryOf(tool.name, recover)(insideRecovery(tool), params)
    return fromRecovered({
      ...self,
      recovered: recovered(self),
      status: self.status && fromRecovered({ ...self.status, recovered: recovered(self.status) })
    })
  }
)
