/** Inferred options: the type of an options object as one type parameter, from which a function derives its types. */
import type * as Effect from "effect/Effect"

/**
 * Infers the type of an options object and accepts any value: the other members of an intersection check it. The
 * condition is never true. It is a place for the inference.
 */
export type Inferred<O> = { readonly [K in keyof O]: K extends never ? O[K] : unknown }

/** Value of an option, if it is given. It distributes: the object may be one of several, or absent. */
export type OptionOf<O, Name> = O extends unknown ? Name extends keyof O ? O[Name] : never : never

/** Results of a function, or of one of several. */
type ReturnOf<F> = F extends (...args: never) => infer Result ? Result : never

type ErrorOf<Result> = Result extends Effect.Effect<infer _A, infer E, infer _R> ? E : never
type ServicesOf<Result> = Result extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

/**
 * Errors of the function that is the option of a name.
 *
 * @category utility types
 * @since 0.2.0
 */
export type HookError<O, Name> = ErrorOf<ReturnOf<OptionOf<O, Name>>>

/**
 * Services of the function that is the option of a name.
 *
 * @category utility types
 * @since 0.2.0
 */
export type HookServices<O, Name> = ServicesOf<ReturnOf<OptionOf<O, Name>>>
