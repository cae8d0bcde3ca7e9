/** Estimates from samples: means, and the intervals in which they lie with 95% confidence. */

/**
 * A mean, with the interval in which it lies with 95% confidence.
 *
 * @category models
 * @since 0.2.0
 */
export interface Estimate {
  readonly rate: number
  readonly low: number
  readonly high: number
}

const z = 1.96

/** A share of successes (Wilson, JASA 22, 1927). */
export const share = (successes: number, of: number): Estimate => {
  if (of === 0) return { rate: 0, low: 0, high: 1 }
  const rate = successes / of
  const middle = (rate + z * z / (2 * of)) / (1 + z * z / of)
  const half = z / (1 + z * z / of) * Math.sqrt(rate * (1 - rate) / of + z * z / (4 * of * of))
  return { rate, low: Math.max(0, middle - half), high: Math.min(1, middle + half) }
}

const meanOf = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * The mean of scores from 0 to 1, of which those of one case are alike: the interval is that of the means of cases
 * (clustered standard errors; Miller, arXiv 2411.00640, 2024). If each case is met wholly or not at all, it is that of
 * a share.
 */
export const mean = (cases: ReadonlyArray<ReadonlyArray<number>>): Estimate => {
  const means = cases.filter((scores) => scores.length > 0).map(meanOf)
  const n = means.length
  if (means.every((value) => value === 0 || value === 1)) return share(means.filter((value) => value === 1).length, n)
  const rate = meanOf(means)
  if (n === 1) return { rate, low: 0, high: 1 }
  const variance = means.reduce((sum, value) => sum + (value - rate) ** 2, 0) / (n - 1)
  const half = z * Math.sqrt(variance / n)
  return { rate, low: Math.max(0, rate - half), high: Math.min(1, rate + half) }
}
