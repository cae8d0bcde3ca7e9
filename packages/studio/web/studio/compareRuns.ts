/** Comparison of two runs: their steps in order, with similar ones side by side. */
import type { RunTimeline, Span } from "@recourse/server/RunTimeline"

/** Corresponding steps of both runs; a single one if only one run has it. */
export interface Pair {
  readonly left: Span | undefined
  readonly right: Span | undefined
}

/** Compared steps of a run: its requests, regardless of retries. */
const steps = ({ spans }: RunTimeline): ReadonlyArray<Span> =>
  spans.filter(({ kind }) => kind === "turn" || kind === "call")

const same = (left: Span, right: Span): boolean =>
  left.kind === right.kind && (left.kind === "turn" || (left.name === right.name && left.arguments === right.arguments))

/** Maximum of aligned steps of each run; the rest follow one after the other. */
const most = 1000

/** The steps of two runs, aligned by the longest sequence that both have. */
export const compareRuns = (a: RunTimeline, b: RunTimeline): ReadonlyArray<Pair> => {
  const left = steps(a).slice(0, most)
  const right = steps(b).slice(0, most)
  const width = right.length + 1
  const lengths = new Uint16Array((left.length + 1) * width)
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      lengths[i * width + j] = same(left[i]!, right[j]!)
        ? lengths[(i + 1) * width + j + 1]! + 1
        : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!)
    }
  }
  const pairs: Array<Pair> = []
  let i = 0
  let j = 0
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && same(left[i]!, right[j]!)) {
      pairs.push({ left: left[i++], right: right[j++] })
    } else if (j >= right.length || (i < left.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      pairs.push({ left: left[i++], right: undefined })
    } else pairs.push({ left: undefined, right: right[j++] })
  }
  return pairs
}
