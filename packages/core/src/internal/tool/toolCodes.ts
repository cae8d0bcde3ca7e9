/** `Tool.codes`: the codes that a tool declares for its failures. */
import { codesOf } from "../projection/declaration.ts"
import type { Any } from "./tool.ts"

/**
 * The codes that a tool's `failure` declares by `ErrorProjection.declare`, in its order, each once: for documentation, and for tests
 * that go through all of them. Those that Recourse gives itself, such as `invalid_arguments` and `timeout`, are not among them.
 *
 * **Example** (Codes in the documentation of a tool)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { ErrorProjection, Tool } from "@recourse/core"
 *
 * class NoOrder extends Schema.TaggedError<NoOrder>()("NoOrder", {}, ErrorProjection.declare({ code: "not_found" })) {}
 * class Busy extends Schema.TaggedError<Busy>()("Busy", {}, ErrorProjection.declare({ code: "rate_limited" })) {}
 *
 * const Find = Tool.make("find", {
 *   failure: Schema.Union([NoOrder, Busy]),
 *   execute: (): Effect.Effect<void, NoOrder | Busy> => new NoOrder({})
 * })
 * Tool.codes(Find) // => ["not_found", "rate_limited"]
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const codes = (tool: Any): ReadonlyArray<string> => codesOf(tool.info.failure)
