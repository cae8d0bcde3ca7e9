/** Transport retries: charges and reports the HTTP requests that are sent again below the model calls of a run. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { CurrentExchange, makeExchange } from "../foundation/effect/retriedFailures.ts"
import { Observer } from "../model/transportObserver.ts"
import { emit, type Run } from "../run/run.ts"
import type { Session } from "../run/session.ts"
import { use } from "../run/state/runState.ts"

/** A context in which a run hears of its transport retries, before the observer of the context does. */
export const observed = (
  context: Context.Context<never>,
  run: Run,
  session: Session
): Context.Context<never> => {
  const outer = Context.get(context, Observer)
  const shared = Context.add(
    context,
    CurrentExchange,
    session.exchange = makeExchange((now, millis) => run.account.hasTime(now, millis))
  )
  return Context.add(shared, Observer, (retry) =>
    run.account.charge("transportRetries").pipe(
      Effect.andThen(emit(run, () => ({
        _tag: "TransportRetry",
        turn: session.turn,
        retry: retry.attempt,
        delay: Duration.toMillis(retry.delay),
        error: retry.failure._tag === "Status" ? String(retry.failure.status) : retry.failure.code ?? "connection",
        host: retry.host
      }))),
      Effect.andThen(Effect.suspend(() => {
        use(run, "transportRetries", 1)
        return outer(retry)
      }))
    ))
}
