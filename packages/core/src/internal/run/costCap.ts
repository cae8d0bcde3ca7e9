/** Capped sections: a part of a run with caps of its own, below those of the run. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Caps } from "../../Budget.ts"
import { stopOf } from "./account.ts"
import { CurrentRun } from "./run.ts"

/** Runs an effect within caps; returns no value when one of them stops it. Outside of a run there are no counts. */
export const bounded = <A, E, R>(
  name: string,
  caps: Caps,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Option.Option<A>, E, R> =>
  Effect.flatMap(CurrentRun, (run) => {
    if (run === undefined) return Effect.map(effect, Option.some)
    const account = run.account.section(name, caps)
    return effect.pipe(
      Effect.map(Option.some),
      Effect.provideService(CurrentRun, { ...run, account }),
      Effect.catchCause((cause) => stopOf(cause, account) === undefined ? Effect.failCause(cause) : Effect.succeedNone)
    )
  })
