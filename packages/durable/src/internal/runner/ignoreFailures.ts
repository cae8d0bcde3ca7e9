/** Ignores failures. A store that stays down is logged once, and once when it answers again. */
import * as Effect from "effect/Effect"

/** Makes the function of a runner: each operation has a name, which its logged failures contain. */
export const makeQuietly = () => {
  const failing = new Set<string>()
  return <A>(what: string, effect: Effect.Effect<A, unknown>): Effect.Effect<A | undefined> =>
    Effect.matchCauseEffect(effect, {
      onFailure: (cause) => {
        if (failing.has(what)) return Effect.undefined
        failing.add(what)
        return Effect.as(Effect.logWarning(`Durable runs: ${what}`, cause), undefined)
      },
      onSuccess: (value) =>
        failing.delete(what)
          ? Effect.as(Effect.logInfo(`Durable runs: the store answers again after ${what}`), value)
          : Effect.succeed(value)
    })
}
