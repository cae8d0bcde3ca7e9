/** Parts of a server's offer that are left out, with their names and reasons. */
import * as Effect from "effect/Effect"

/**
 * A part of a server's offer that is left out, or of its output that was skipped.
 *
 * @category models
 * @since 0.2.0
 */
export interface LeftOut {
  /** A tool; a field of a tool, which is there without it; a page of the list with all that come after it; output. */
  readonly kind: "tool" | "field" | "page" | "output"
  /** The server's name for it: `pay`, `pay.outputSchema`, `page 3`; `output` for output. */
  readonly name: string
  readonly reason: string
}

/** Returns the entry of skipped output, if there is some. */
export const skipped = (pieces: number): ReadonlyArray<LeftOut> =>
  pieces === 0 ? [] : [{ kind: "output", name: "output", reason: `${pieces} lines or events were not JSON-RPC` }]

/** Logs the parts that are newly left out. */
export const warnOf = (
  server: string,
  before: ReadonlyArray<LeftOut>,
  now: ReadonlyArray<LeftOut>
): Effect.Effect<void> => {
  const isNew = ({ kind, name, reason }: LeftOut) =>
    kind !== "output" && !before.some((one) => one.name === name && one.reason === reason)
  const left = now.filter(isNew)
  return left.length === 0 ? Effect.void : Effect.logWarning(
    `MCP server "${server}": left out ${left.map(({ kind, name, reason }) => `${kind} ${name} (${reason})`).join(", ")}`
  )
}
