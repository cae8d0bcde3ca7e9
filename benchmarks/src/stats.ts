/** Medians, and how far measurements lie apart. */

export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
}

const at = (sorted: ReadonlyArray<number>, share: number): number => sorted[Math.floor((sorted.length - 1) * share)]!

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return (at(sorted, 0.5) + at(sorted.toReversed(), 0.5)) / 2
}

export const summarise = (values: ReadonlyArray<number>): Summary => ({
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values)
})
