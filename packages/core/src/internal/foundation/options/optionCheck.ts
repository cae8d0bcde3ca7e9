/** Run-time check of options: names and kinds of values. Plain JavaScript has no compiler that would refuse them. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { nearestName } from "./nearestName.ts"
import { kindOf } from "./valueKind.ts"

/**
 * A kind of value: how a sentence calls it, and its check.
 *
 * @category models
 * @since 0.2.0
 */
export interface Kind {
  readonly is: (value: unknown) => boolean
  readonly called: string
  /** A sentence about a value of another kind; absent if the kind alone is clear enough. */
  readonly about?: (value: unknown) => string | undefined
}

const ofType = (type: "string" | "boolean" | "number" | "function"): Kind => ({
  is: (value) => typeof value === type,
  called: `a ${type}`
})

/**
 * A text.
 *
 * @category constants
 * @since 0.2.0
 */
export const aString: Kind = ofType("string")
/**
 * `true` or `false`.
 *
 * @category constants
 * @since 0.2.0
 */
export const aBoolean: Kind = ofType("boolean")
/**
 * A number of any value.
 *
 * @category constants
 * @since 0.2.0
 */
export const aNumber: Kind = ofType("number")
/**
 * A function.
 *
 * @category constants
 * @since 0.2.0
 */
export const aFunction: Kind = ofType("function")
/**
 * Any value: another check decides.
 *
 * @category constants
 * @since 0.2.0
 */
export const anything: Kind = { is: () => true, called: "anything" }
/**
 * An object that is no list.
 *
 * @category constants
 * @since 0.2.0
 */
export const anObject: Kind = {
  is: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  called: "an object"
}
/**
 * A list.
 *
 * @category constants
 * @since 0.2.0
 */
export const anArray: Kind = { is: Array.isArray, called: "a list" }

const longestShown = 32

/** A value as a sentence shows it: a number, a short text, or the kind of another value and of a text that may be a secret. */
export const shown = (value: unknown): string =>
  typeof value === "number"
    ? String(value)
    : typeof value === "string" && value.length <= longestShown && !/[\w-]{16,}/.test(value)
    ? JSON.stringify(value)
    : kindOf(value)

/**
 * One of several texts.
 *
 * @category constructors
 * @since 0.2.0
 */
export const oneOf = (...values: ReadonlyArray<string>): Kind => ({
  is: (value) => typeof value === "string" && values.includes(value),
  called: values.map((value) => JSON.stringify(value)).join(" or "),
  about: (value) => {
    const near = typeof value === "string" ? nearestName(value, values) : undefined
    return near === undefined ? undefined : `is ${shown(value)}. Did you mean ${JSON.stringify(near)}?`
  }
})

/**
 * A duration as effect reads it. A negative number, which effect reads as 0, is none.
 *
 * @category constants
 * @since 0.2.0
 */
export const aDuration: Kind = {
  is: (value) =>
    (typeof value !== "number" || value >= 0) && Option.isSome(Duration.fromInput(value as Duration.Input)) &&
    Duration.toMillis(value as Duration.Input) >= 0,
  called: "a duration such as \"5 seconds\""
}

/**
 * A duration that is longer than 0.
 *
 * @category constants
 * @since 0.2.0
 */
export const aTimeLimit: Kind = {
  is: (value) => aDuration.is(value) && Duration.toMillis(value as Duration.Input) > 0,
  called: "a duration longer than 0, such as \"5 seconds\""
}

/**
 * A duration that is longer than 0 and ends: of an interval or a lease.
 *
 * @category constants
 * @since 0.2.0
 */
export const anInterval: Kind = {
  is: (value) => aTimeLimit.is(value) && Duration.isFinite(Duration.fromInputUnsafe(value as Duration.Input)),
  called: "a finite duration longer than 0, such as \"5 seconds\""
}

const wholeNumber = (least: number, isBounded: boolean): Kind => ({
  is: (value) => (Number.isInteger(value) || (!isBounded && value === Infinity)) && (value as number) >= least,
  called: `an integer >= ${least}${isBounded ? "" : ", or Infinity"}`
})

/**
 * A number of things, which may be none.
 *
 * @category constants
 * @since 0.2.0
 */
export const aCount: Kind = wholeNumber(0, true)
/**
 * A number of things, one at least.
 *
 * @category constants
 * @since 0.2.0
 */
export const aPositiveCount: Kind = wholeNumber(1, true)
/**
 * The most of something, which may be none; `Infinity` is no limit.
 *
 * @category constants
 * @since 0.2.0
 */
export const aCap: Kind = wholeNumber(0, false)
/**
 * The most of something, one at least; `Infinity` is no limit.
 *
 * @category constants
 * @since 0.2.0
 */
export const aLimit: Kind = wholeNumber(1, false)
/** An amount: a finite number that is not negative. */
export const anAmount: Kind = {
  is: (value) => Number.isFinite(value) && (value as number) >= 0,
  called: "a number >= 0"
}
/** The most of an amount; `Infinity` is no limit. */
export const anAmountCap: Kind = {
  is: (value) => value === Infinity || anAmount.is(value),
  called: "a number >= 0, or Infinity"
}
/**
 * A share of something.
 *
 * @category constants
 * @since 0.2.0
 */
export const aShare: Kind = {
  is: (value) => anAmount.is(value) && (value as number) <= 1,
  called: "a number from 0 to 1"
}

/** A schedule of effect. */
export const aSchedule: Kind = {
  is: Schedule.isSchedule,
  called: "a Schedule of effect, such as Schedule.spaced(\"1 second\")"
}

/**
 * A list of one kind.
 *
 * @category constructors
 * @since 0.2.0
 */
export const listOf = (kind: Kind): Kind => ({
  is: (value) => Array.isArray(value) && value.every(kind.is),
  called: `a list of ${kind.called}`
})

/**
 * One of several kinds.
 *
 * @category constructors
 * @since 0.2.0
 */
export const either = (...kinds: ReadonlyArray<Kind>): Kind => ({
  is: (value) => kinds.some((kind) => kind.is(value)),
  called: kinds.map(({ called }) => called).join(" or "),
  about: (value) => kinds.map(({ about }) => about?.(value)).find((sentence) => sentence !== undefined)
})

/**
 * The options of a declaration: the kind of each, and the names that other libraries have for them.
 *
 * @category models
 * @since 0.2.0
 */
export interface Checked {
  readonly kinds: Readonly<Record<string, Kind>>
  readonly otherNames: Readonly<Record<string, string>>
}

const unknownName = (name: string, { kinds, otherNames }: Checked, within: string): string => {
  const here = `there is no option "${within}${name}"`
  if (Object.hasOwn(otherNames, name)) return `${here}. Use ${otherNames[name]}`
  const near = nearestName(name, Object.keys(kinds))
  return near === undefined
    ? `${here}. There are: ${Object.keys(kinds).join(", ")}`
    : `${here}. Did you mean "${within}${near}"?`
}

/** Throws `ConfigurationError` for a value of another kind; `undefined` is an absent option. */
export const checkOption = (subject: string, name: string, value: unknown, kind: Kind): void => {
  if (value !== undefined) checkArgument(subject, name, value, kind)
}

/**
 * Throws `ConfigurationError` for an argument of another kind.
 *
 * @category guards
 * @since 0.2.0
 */
export const checkArgument = (subject: string, name: string, value: unknown, kind: Kind): void => {
  if (kind.is(value)) return
  const problem = kind.about?.(value) ?? `is ${shown(value)} and has to be ${kind.called}`
  throw new ConfigurationError({ subject, problem: `${name} ${problem}` })
}

/** Returns an optional duration, or its default. Throws `ConfigurationError` for a value that is none. */
export const durationOf = (
  subject: string,
  name: string,
  value: Duration.Input | undefined,
  otherwise: Duration.Input,
  kind: Kind = aDuration
): Duration.Duration => {
  checkOption(subject, name, value, kind)
  return Duration.fromInputUnsafe(value ?? otherwise)
}

/**
 * Throws `ConfigurationError` for a name that is not known, and for a value of another kind. `within`: the path of options that are
 * the value of an option, such as `"budget."`.
 *
 * **Example** (A misspelt option)
 *
 * ```ts
 * import { OptionCheck } from "@recourse/core"
 *
 * const kinds = { retries: OptionCheck.aCap, timeout: OptionCheck.aTimeLimit }
 * const problemOf = (options: object) => {
 *   try {
 *     return OptionCheck.checkOptions("Search", options, { kinds, otherNames: {} })
 *   } catch (error) {
 *     return String((error as Error).message)
 *   }
 * }
 * problemOf({ retries: 2, timeout: "1 second" }) // => undefined
 * problemOf({ retrys: 2 }) // => "Search: there is no option \"retrys\". Did you mean \"retries\"?"
 * problemOf({ retries: -1 }) // => "Search: retries is -1 and has to be an integer >= 0, or Infinity"
 * ```
 *
 * @category guards
 * @since 0.2.0
 */
export const checkOptions = (subject: string, options: unknown, checked: Checked, within = ""): void => {
  if (!anObject.is(options)) {
    const problem = within === ""
      ? `its options are ${kindOf(options)} and have to be an object`
      : `${within.slice(0, -1)} is ${shown(options)} and has to be an object`
    throw new ConfigurationError({ subject, problem })
  }
  for (const [name, value] of Object.entries(options as object)) {
    const kind = Object.hasOwn(checked.kinds, name) ? checked.kinds[name] : undefined
    if (kind === undefined) throw new ConfigurationError({ subject, problem: unknownName(name, checked, within) })
    checkOption(subject, `${within}${name}`, value, kind)
  }
}
