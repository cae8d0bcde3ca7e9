/** Values that make no sense, by the kind of option, and the test of a table of options. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigurationError } from "@recourse/core"
import { Cause, Effect, Exit, Layer } from "effect"

/** Values that no option of a kind takes. */
const none = ["3", true, {}, []]
const noCount = [Number.NaN, -1, 1.5, -Infinity, ...none]
const noDuration = [-1, Number.NaN, -Infinity, "soon", "3 apples", true]
const kinds = {
  /** From 0; `Infinity` is no number of things. */
  count: [...noCount, Infinity],
  /** From 1. */
  positive: [...noCount, Infinity, 0],
  /** From 0; `Infinity` is no limit. */
  cap: noCount,
  /** From 1; `Infinity` is no limit. */
  limit: [...noCount, 0],
  integer: [Number.NaN, 1.5, -Infinity, Infinity, ...none],
  finite: [Number.NaN, -Infinity, Infinity, ...none],
  amount: [Number.NaN, -1, Infinity, ...none],
  amountCap: [Number.NaN, -1, ...none],
  share: [Number.NaN, -0.1, 1.1, ...none],
  duration: noDuration,
  /** Longer than 0. */
  time: [...noDuration, 0],
  /** Longer than 0, and finite. */
  interval: [...noDuration, 0, Infinity],
  tag: ["Timout", 3, {}, null]
} as const satisfies Record<string, ReadonlyArray<unknown>>

type Kind = keyof typeof kinds
/** The kind of an option, its name in the sentence, a value that is taken, and a call with a value. */
export type Row = readonly [kind: Kind, name: string, good: unknown, call: (value: any) => unknown]

/** Builds a made Effect or Layer, as far as that needs no services. */
const built = (made: unknown): Exit.Exit<unknown, unknown> =>
  Effect.isEffect(made)
    ? Effect.runSyncExit(Effect.scoped(made as Effect.Effect<unknown, unknown>))
    : Layer.isLayer(made)
    ? Effect.runSyncExit(Effect.scoped(Layer.build(made as Layer.Layer<unknown, unknown>)))
    : Exit.void

/** The sentence about a value, if it is refused: at once, or by the Effect or the Layer that the function returns. */
export const refusal = (call: () => unknown): string | undefined => {
  let error: unknown
  try {
    const exit = built(call())
    if (Exit.isFailure(exit)) error = Cause.squash(exit.cause)
  } catch (thrown) {
    error = thrown
  }
  return error instanceof ConfigurationError.ConfigurationError ? error.message : undefined
}

/** Tests of rows, by the subject of their options. */
export const testOptions = (rows: Readonly<Record<string, ReadonlyArray<Row>>>): void => {
  describe.each(Object.entries(rows))("%s", (subject, options) => {
    for (const [kind, name, good, call] of options) {
      it(`takes a ${kind} as ${name}, and refuses other values`, () => {
        assert.isUndefined(refusal(() => call(good)), `${name}: ${String(good)}`)
        for (const value of kinds[kind]) {
          const sentence = refusal(() => call(value)) ?? "it is taken"
          assert.include(sentence, name, `${subject}, ${name}: ${String(value)}`)
        }
      })
    }
  })
}
