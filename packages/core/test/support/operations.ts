/** True if runs are interrupted and killed at each operation. */
export const isEachTried = process.env["RECOURSE_EVERY_STEP"] !== undefined

/** The seed of this test run. */
export const seed = Number(process.env["RECOURSE_SEED"] ?? 0)

/** True for half of the pairs of two numbers, which the seed chooses: each number has pairs of both kinds. True for all if each is tried. */
export const isChosen = (one: number, other: number): boolean => isEachTried || (one + other + seed) % 2 === 0

/** Most operations of one case at which a test run interrupts or kills it. */
const most = 25

/**
 * The operations from `first` to the one before `end` at which a test interrupts or kills a run: all of them if `RECOURSE_EVERY_STEP` is set.
 * Otherwise they are at least `apart` operations apart, 25 at most, and `RECOURSE_SEED` chooses the first.
 */
export const operationsBetween = (first: number, end: number, apart: number): ReadonlyArray<number> => {
  const stride = isEachTried ? 1 : Math.max(apart, Math.ceil((end - first) / most))
  const start = first + seed % stride
  return Array.from({ length: Math.max(0, Math.ceil((end - start) / stride)) }, (_, nth) => start + nth * stride)
}
