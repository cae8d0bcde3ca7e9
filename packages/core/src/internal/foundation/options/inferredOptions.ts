/** Inferred options: the type of an options object as one type parameter, from which a function derives its types. */
import type * as Effect from "effect/Effect"

/**
 * Infers the type of an options object and accepts any value: the other members of an intersection check it. The
 * condition is never true. It is a place for the inference.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Inferred<O> = { readonly [K in keyof O]: K extends never ? O[K] : unknown }

/**
 * Value of an option, if it is given. It distributes: the object may be one of several, or absent.
 *
 * @category utility types
 * @since 0.2.0
 */
export type OptionOf<O, Name> = O extends unknown ? Name extends keyof O ? O[Name] : never : never

/**
 * Result of the function that is the option of a name.
 *
 * @category utility types
 * @since 0.2.0
 */
export type HookSuccess<O, Name> = Effect.Success<
  ReturnType<Extract<OptionOf<O, Name>, (...args: never) => unknown>>
>

/**
 * Errors of the function that is the option of a name.
 *
 * @category utility types
 * @since 0.2.0
 */
export type HookError<O, Name> = Effect.Error<
  ReturnType<Extract<OptionOf<O, Name>, (...args: never) => unknown>>
>

/**
 * Services of the function that is the option of a name.
 *
 * @category utility types
 * @since 0.2.0
 */
export type HookServices<O, Name> = Effect.Services<
  ReturnType<Extract<OptionOf<O, Name>, (...args: never) => unknown>>
>
