/** Misspelt names: refuses a name that a table does not have, with a sentence, and suggests a near one. */

import type { Single } from "../errorTags.ts"

/**
 * The compiler's message for an unknown name. `Others` are names of other libraries, with ours.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Misspelt<Name, Known, Others = {}> = Name extends string
  ? Name extends keyof Others ? `There is no "${Name}" here. Use ${Others[Name] & string}.`
  : [Misspelt.Near<Name, Known>] extends [never] ? `There is no "${Name}" here.${Misspelt.Listed<Known>}`
  : `There is no "${Name}" here. Did you mean "${Misspelt.Near<Name, Known> & string}"?`
  : never

/**
 * Requires that all keys of a table are known.
 *
 * @category utility types
 * @since 0.2.0
 */
export type OnlyKnown<T, Known, Others = {}> = [Exclude<keyof T, Known>] extends [never] ? unknown
  : { readonly [K in Exclude<keyof T, Known>]: Misspelt<K, Known, Others> }

/**
 * Parts of the message.
 *
 * @category utility types
 * @since 0.2.0
 */
export declare namespace Misspelt {
  export type Rest<A extends string, B extends string> = A extends `${infer First}${infer RestA}`
    ? B extends `${First}${infer RestB}` ? Rest<RestA, RestB> : readonly [A, B]
    : readonly [A, B]

  export type Tail<A extends string> = A extends `${infer _First}${infer Rest}` ? Rest : never

  /**
   * True if two rests, which differ in their first letters, are one letter apart: omitted, inserted, replaced or swapped.
   */
  export type OneApart<R> = R extends readonly [infer A extends string, infer B extends string] ?
    A extends B | Tail<B> ? true
    : B extends Tail<A> ? true
    : Tail<A> extends Tail<B> ? true
    : A extends `${infer X}${infer Y}${infer Rest}` ? B extends `${Y}${X}${Rest}` ? true : false
    : false
    : false

  export type Near<Name extends string, Known> = Known extends string
    ? OneApart<Rest<Lowercase<Name>, Lowercase<Known>>> extends true ? Known : never
    : never

  /** The existing names, if that is one or none: many would be a sentence for each. */
  export type Listed<Known> = [Known] extends [never] ? " There are none."
    : [Single<Known>] extends [never] ? ""
    : ` There is ${Known & string}.`
}
