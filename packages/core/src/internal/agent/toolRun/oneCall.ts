/** `ToolRun.call` and `ToolRun.callPromise`: each is a run with one call. */
import * as Effect from "effect/Effect"
import type * as Types from "effect/Types"
import type { SnapshotKey } from "../../approval/snapshotKey.ts"
import type { DefaultOf, PolicyServices } from "../../recovery/policy.ts"
import type * as Tool from "../../tool/tool.ts"
import type { CallTypes } from "../options.ts"
import type { GivenCall } from "../../loop/singleCall.ts"
import type { Outcome } from "../../round/callOutcome.ts"
import { make, open, type ToolRunOptions, type WithLayer } from "./makeToolRun.ts"
import type { Unhandled } from "./toolRun.ts"

/**
 * A call of one tool, and the options of its run.
 *
 * @category options
 * @since 0.2.0
 */
export interface OneCall<O = {}> extends Omit<ToolRunOptions<[], O>, "tools" | "policies">, Omit<GivenCall, "name"> {}

/**
 * Calls a tool once, without an agent: a run with one call. Returns the tagged outcome: the result, or the failure that
 * a model reads. Fails with the errors that the tool's recovery leaves. Broken JSON in `arguments` is repaired as in
 * an agent, or the call fails with `InvalidArgs`.
 *
 * **Example** (Arguments as the text of a model)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolRun } from "@recourse/core"
 *
 * const Double = Tool.make("double", {
 *   parameters: Schema.Struct({ n: Schema.Number }),
 *   success: Schema.Number,
 *   execute: ({ n }) => Effect.succeed(n * 2)
 * })
 * const doubled = ToolRun.call(Double, { id: "call_1", arguments: "{\"n\": 21}" })
 *
 * await Effect.runPromise(Effect.map(doubled, (outcome) => outcome._tag === "Success" && outcome.value)) // => 42
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const call = <T extends Tool.Any, O = {}>(
  tool: T,
  options: OneCall & O
): Effect.Effect<
  Outcome<Tool.Success<T>>,
  CallTypes<T, {}, O>["error"],
  Exclude<Tool.Services<T> | PolicyServices<DefaultOf<O>>, SnapshotKey>
> => {
  const { arguments: given, id, ...others } = options as OneCall
  return Effect.scoped(Effect.flatMap(
    make(tool.name, { ...others, tools: [tool] } as never),
    (run) => Effect.ensuring(run.call({ id, name: tool.name, arguments: given }), run.end)
  )) as never
}

/**
 * {@link call} for programs of promises. Returns `Unhandled` in place of an error. `layer` provides the services of the
 * tool; `signal` interrupts the call. Rejects if the layer cannot be built.
 *
 * **Example** (An error that no recovery handles)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolRun } from "@recourse/core"
 *
 * class NoStock extends Schema.TaggedError<NoStock>()("NoStock", { item: Schema.String }) {}
 *
 * const Reserve = Tool.make("reserve", {
 *   parameters: Schema.Struct({ item: Schema.String }),
 *   success: Schema.String,
 *   execute: ({ item }) => Effect.fail(new NoStock({ item }))
 * })
 * const outcome = await ToolRun.callPromise(Reserve, { id: "call_1", arguments: { item: "cup" } })
 *
 * const error = outcome._tag === "Unhandled" ? outcome.error : undefined
 * error?._tag === "ExecutionError" && error.reason._tag // => "NoStock"
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const callPromise = async <T extends Tool.Any, O = {}>(
  tool: T,
  options:
    & OneCall
    & O
    & { readonly signal?: AbortSignal | undefined }
    & WithLayer<Exclude<Tool.Services<T> | PolicyServices<DefaultOf<Types.NoInfer<O>>>, SnapshotKey>>
): Promise<Outcome<Tool.Success<T>> | Unhandled<CallTypes<T, {}, O>["error"]>> => {
  const { arguments: given, id, signal, ...others } = options as OneCall & { readonly signal?: AbortSignal }
  const run = await open(tool.name, { ...others, tools: [tool] } as never)
  const outcome = await run.callPromise({ id, name: tool.name, arguments: given }, { signal })
  await run.endPromise()
  return outcome as never
}
