/** The story of a run that waits: its calls until then, in three lines at most. */
import type { Span } from "../timeline/types.ts"

const most = 3
const longestArguments = 60

const ends: Readonly<Partial<Record<Span["state"], string>>> = {
  success: "done",
  unknown: "outcome unknown",
  undone: "undone",
  not_undone: "not undone",
  stopped: "stopped"
}

const cut = (text: string): string => text.length <= longestArguments ? text : `${text.slice(0, longestArguments - 1)}…`

/** The attempts of a call that were repeated. */
const attemptsOf = (spans: ReadonlyArray<Span>, { id }: Span): string => {
  const attempts = spans.filter(({ kind, parent }) => kind === "attempt" && parent === id).length
  return attempts > 1 ? ` after ${attempts} attempts` : ""
}

const lineOf = (spans: ReadonlyArray<Span>, call: Span): string => {
  const args = call.arguments === undefined || call.arguments === "{}" ? "" : ` ${cut(call.arguments)}`
  const end = ends[call.state] ?? `failed${call.note === undefined ? "" : `: ${call.note}`}`
  return `${call.name}${args}: ${end}${attemptsOf(spans, call)}`
}

/** Returns the lines of a run's outermost calls that have ended. Earlier ones than the last are counted in the first line. */
export const storyOf = ({ spans }: { readonly spans: ReadonlyArray<Span> }): ReadonlyArray<string> => {
  const calls = spans.filter(({ depth, kind, state }) =>
    kind === "call" && depth <= 2 && state !== "waiting" && state !== "running"
  )
  if (calls.length <= most) return calls.map((call) => lineOf(spans, call))
  const earlier = calls.slice(0, 1 - most)
  const names = Map.groupBy(earlier, ({ name }) => name)
  const counts = [...names].map(([name, { length }]) => length === 1 ? name : `${name} × ${length}`)
  return [
    cut(`${earlier.length} calls before: ${counts.join(", ")}`),
    ...calls.slice(1 - most).map((call) => lineOf(spans, call))
  ]
}
