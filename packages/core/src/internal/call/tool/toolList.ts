/** Tool list: origin of a tool in a list that changes while agents run. */
import type * as Effect from "effect/Effect"

/**
 * A list of tools that can change while agents run, such as that of an MCP server. `T` is the type of a tool.
 *
 * @category models
 * @since 0.2.0
 */
export interface ToolList<T = any> {
  /** Returns the present tools and their version, or `undefined` if that is the given version. It does not fail. */
  readonly changedSince: (
    version: number
  ) => Effect.Effect<{ readonly version: number; readonly tools: ReadonlyArray<T> } | undefined>
}

/**
 * The place of a tool in a list.
 *
 * @category models
 * @since 0.2.0
 */
export interface Listed<T = any> {
  readonly list: ToolList<T>
  /** The version of the list that the tool is from. */
  readonly version: number
  /** The names of all tools of that version: an agent that has fewer of them is given no new ones. */
  readonly names: ReadonlyArray<string>
}
