/**
 * Results of functions in options. Only the compiler would refuse a promise, or a value of another kind, and no rule may be skipped because
 * of one: the run ends with a `ConfigurationError`.
 */
import * as Effect from "effect/Effect"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { aFunction, type Kind, shown } from "./optionCheck.ts"
import { isPromiseLike, kindOf } from "./valueKind.ts"

/** A function in options: the declaration that it is of, its name, and the kind of its result. */
export interface Hook {
  readonly subject: string
  readonly name: string
  readonly kind: Kind
}

const refuse = ({ kind, name, subject }: Hook, value: unknown, advice: string): never => {
  if (isPromiseLike(value)) value.then(undefined, () => {})
  throw new ConfigurationError({
    subject,
    problem: kind.about?.(value) ?? `${name} returned ${kindOf(value)}. It has to return ${kind.called}${advice}`
  })
}

/** Returns the result of a function that returns no Effect. Throws for another kind. */
export const plainResult = <A>(hook: Hook, result: A): A =>
  hook.kind.is(result) ? result : refuse(hook, result, isPromiseLike(result) ? ": a promise is awaited nowhere" : "")

const inPlace = ", or an Effect of it: wrap a promise in Effect.promise"

/** Returns the result of a function that returns a value, or an Effect of it. Dies for another kind. */
export const resultOrEffect = <A, E = never, R = never>(
  hook: Hook,
  evaluate: () => A | Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const result = evaluate()
    if (Effect.isEffect(result)) {
      return Effect.map(
        result as Effect.Effect<A, E, R>,
        (value) => hook.kind.is(value) ? value : refuse(hook, value, inPlace)
      )
    }
    return hook.kind.is(result) ? Effect.succeed(result) : refuse(hook, result, inPlace)
  })

/** Returns a result that has to be an Effect. Throws for another kind. */
export const effectResult = <Made>({ name, subject }: Omit<Hook, "kind">, result: Made): Made => {
  if (Effect.isEffect(result)) return result
  const kind = { is: Effect.isEffect, called: "an Effect" }
  return refuse({ name, subject, kind }, result, isPromiseLike(result) ? ": wrap the promise in Effect.promise" : "")
}

type Recover = (...call: Array<never>) => unknown

/** Returns a recovery of a tool that throws if it returns no Effect. Throws if it is no function. */
export const recoveryOf = <R extends Recover>(tool: string, recover: R): R => {
  const subject = `Tool "${tool}"`
  if (!aFunction.is(recover)) {
    throw new ConfigurationError({ subject, problem: `its recovery is ${shown(recover)} and has to be a function` })
  }
  return ((...call) => effectResult({ subject, name: "its recovery" }, recover(...call))) as R
}
