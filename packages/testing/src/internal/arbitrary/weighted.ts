/** Weighted choice of arbitrary values, whatever the size. Shrinking goes to the first one. */
import { Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"

/** One of the values, each as often as its weight says. */
export const pick = <const A>(
  ...weighted: ReadonlyArray<readonly [value: A, weight: number]>
): Arbitrary.Arbitrary<A> => {
  const values = weighted.flatMap(([value, weight]) => Array.from({ length: weight }, () => value))
  // Not an integer between bounds, which is small while sizes are.
  return Arbitrary.map(
    Arbitrary.schema(Schema.Literals(values.map((_, index) => index))),
    (index) => values[index]!
  )
}

/** One of so many whole numbers from 1 on, `step` apart, each as often. */
export const spread = (count: number, step: number): Arbitrary.Arbitrary<number> =>
  pick(...Array.from({ length: count }, (_, index) => [index * step + 1, 1] as const))
