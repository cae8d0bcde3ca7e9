/**
 * Error tags, in types and at run time.
 *
 * `Effect.catchTag` and `Predicate.isTagged` take literal tags. Recovery takes lists that a program makes.
 */
import * as Effect from "effect/Effect"

/**
 * A compile error that names tags which the call cannot fail with.
 *
 * @category models
 * @since 0.2.0
 */
export interface NoSuchTag<Tag extends string> {
  readonly "The call does not fail with this tag": Tag
}

/**
 * Asks that each of the tags is one that the call can fail with.
 *
 * @category utility types
 * @since 0.2.0
 */
export type HasTags<E, Tag extends string> = [Exclude<Tag, TagOf<E>>] extends [never] ? unknown
  : NoSuchTag<Exclude<Tag, TagOf<E>>>

/**
 * True if the subject of a combinator is unknown: it is stored. A type of its own, because TypeScript narrows an
 * `unknown` in the first branch of a condition about `unknown`.
 *
 * @category utility types
 * @since 0.2.0
 */
export type IsStored<Known> = unknown extends Known ? true : false

/**
 * Known call of a recovery, by its context of use: unknown for a stored one. A union, because a conditional type would
 * accept no call whose errors are a type parameter.
 *
 * @category utility types
 * @since 0.2.0
 */
export type KnownCall<A, E, R> = Effect.Effect<A, E, R> | (unknown extends E ? unknown : never)

/**
 * Tools and agents, by their brands. They pipe, but are no calls.
 *
 * @category models
 * @since 0.2.0
 */
export type Uncalled = Record<"~@recourse/core/Tool", unknown> | Record<"~@recourse/core/Agent", unknown>

/**
 * True for a tool or an agent, and neither for `never` nor for `any`.
 *
 * @category utility types
 * @since 0.2.0
 */
export type OfUncalled<Known> = [Known] extends [never] ? false
  : [Known] extends [Uncalled & (0 extends 1 & Known ? never : unknown)] ? true
  : false

/**
 * A tool or an agent that is piped into a recovery: accepted, so that the compiler reports the error by {@link OnCalls}
 * at the recovery.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Misplaced<Known> = OfUncalled<Known> extends true ? Uncalled : never

/**
 * The compiler's message for a recovery that is applied to a tool.
 *
 * @category models
 * @since 0.2.0
 */
export type NotOnCalls = "This recovers a tool's call: use tool.pipe(Tool.onError(...))."

/**
 * Requires that a recovery is made for a call.
 *
 * @category utility types
 * @since 0.2.0
 */
export type OnCalls<Known> = OfUncalled<Known> extends true ? NotOnCalls : unknown

/**
 * Names that a recovery accepts in addition to the tags of its call: any tag, if it is stored and its calls are unknown
 * yet. Separate, so that messages list the tags.
 *
 * @category utility types
 * @since 0.2.0
 */
export type OtherTags<E, Tag = string> = unknown extends E ? Tag
  : OfUncalled<E> extends true ? NotOnCalls
  : [Extract<TagOf<E>, Tag>] extends [never] ? "The call fails with none of the errors that this recovers from."
  : never

/**
 * The tags of an error type.
 *
 * @category utility types
 * @since 0.2.0
 */
export type TagOf<E> = E extends Record<"_tag", infer Tag extends string> ? Tag : never

/**
 * Members of `X` that an error type may contain: its members among `X`, and all of `X` that a wider member may include.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Among<E, X> = E extends X ? E : X extends E ? X : never

/**
 * A type that is not a union: a value of it is always the same.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Single<T, All = T> = T extends unknown ? [All] extends [T] ? T : never : never

/**
 * The tags that are in a list for certain: not those of a condition, and none of a list of unknown length.
 *
 * @category utility types
 * @since 0.2.0
 */
export type CertainTags<Tags extends ReadonlyArray<unknown>> = number extends Tags["length"] ? never
  : { readonly [Index in keyof Tags]: Single<Tags[Index]> }[number]

/**
 * An error with a tag.
 *
 * @category models
 * @since 0.2.0
 */
export type Tagged<Tag extends string> = { readonly _tag: Tag }

/** The tag of an error, if it has one. */
export const tagOf = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null && "_tag" in error && typeof error._tag === "string"
    ? error._tag
    : undefined

/** True if an error has one of the tags. */
export const isTagged = (error: unknown, tags: ReadonlyArray<string>): error is Tagged<string> => {
  const tag = tagOf(error)
  return tag !== undefined && tags.includes(tag)
}

/** Like `Effect.catchTag`, for tags known only at run time. */
export const catchTags = <A, E, R, A2, E2, R2>(
  self: Effect.Effect<A, E, R>,
  tags: ReadonlyArray<string>,
  handle: (error: E & Tagged<string>) => Effect.Effect<A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> =>
  Effect.catchIf(self, (error): error is E & Tagged<string> => isTagged(error, tags), handle)

/** Like `Effect.catchIf`, for errors that are known by their class. */
export const catchInstances = <A, E, R, A2, E2, R2>(
  self: Effect.Effect<A, E, R>,
  of: abstract new(...args: never) => unknown,
  handle: (error: E) => Effect.Effect<A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> => Effect.catchIf(self, (error): error is E => error instanceof of, handle)
