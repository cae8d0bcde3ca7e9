/** Misspelt names: refuses a name that a table does not have, with a sentence, and suggests a near one. */

import type { Single } from "../errorTags.ts"

type Rest<A extends string, B extends string> = A extends `${infer First}${infer RestA}`
  ? B extends `${First}${infer RestB}` ? Rest<RestA, RestB> : readonly [A, B]
  : readonly [A, B]

type Tail<A extends string> = A extends `${infer _First}${infer Rest}` ? Rest : never

/**
 * True if two rests, which differ in their first letters, are one letter apart: omitted, inserted, replaced or swapped.
 */
type OneApart<R> = R extends readonly [infer A extends string, infer B extends string] ? A extends B | Tail<B> ? true
  : B extends Tail<A> ? true
  : Tail<A> extends Tail<B> ? true
  : A extends `${infer X}${infer Y}${infer Rest}` ? B extends `${Y}${X}${Rest}` ? true : false
  : false
  : false

type Near<Name extends string, Known> = Known extends string
  ? OneApart<Rest<Lowercase<Name>, Lowercase<Known>>> extends true ? Known : never
  : never

/** The existing names, if that is one or none: many would be a sentence for each. */
type Listed<Known> = [Known] extends [never] ? " There are none."
  : [Single<Known>] extends [never] ? ""
  : ` There is ${Known & string}.`

/** The compiler's message for an unknown name. `Others` are names of other libraries, with ours. */
export type Misspelt<Name, Known, Others = {}> = Name extends string
  ? Name extends keyof Others ? `There is no "${Name}" here. Use ${Others[Name] & string}.`
  : [Near<Name, Known>] extends [never] ? `There is no "${Name}" here.${Listed<Known>}`
  : `There is no "${Name}" here. Did you mean "${Near<Name, Known> & string}"?`
  : never

/** The required and optional keys of an object, without their values. */
export type Keys<O> = { readonly [K in keyof O]: unknown }

/** Asks that all keys of a table are known. */
export type OnlyKnown<T, Known, Others = {}> = [Exclude<keyof T, Known>] extends [never] ? unknown
  : { readonly [K in Exclude<keyof T, Known>]: Misspelt<K, Known, Others> }
