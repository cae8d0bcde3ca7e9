/** Run-time check of options: names and kinds of values. Plain JavaScript has no compiler that would refuse them. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { nearestName } from "./nearestName.ts"
import { kindOf } from "./valueKind.ts"

/** A kind of value: how a sentence calls it, and its check. */
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

export const aString: Kind = ofType("string")
export const aBoolean: Kind = ofType("boolean")
export const aNumber: Kind = ofType("number")
export const aFunction: Kind = ofType("function")
export const anything: Kind = { is: () => true, called: "anything" }
export const anObject: Kind = {
  is: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  called: "an object"
}
export const anArray: Kind = { is: Array.isArray, called: "a list" }

const longestShown = 32

/** A value as a sentence shows it: a short text, or the kind of another value and of a text that may be a secret. */
export const shown = (value: unknown): string =>
  typeof value === "string" && value.length <= longestShown && !/[\w-]{16,}/.test(value)
    ? JSON.stringify(value)
    : kindOf(value)

/** One of several values. */
export const oneOf = (...values: ReadonlyArray<string>): Kind => ({
  is: (value) => typeof value === "string" && values.includes(value),
  called: values.map((value) => JSON.stringify(value)).join(" or "),
  about: (value) => {
    const near = typeof value === "string" ? nearestName(value, values) : undefined
    return near === undefined ? undefined : `is ${shown(value)}. Did you mean ${JSON.stringify(near)}?`
  }
})

/** A duration as effect reads it. */
export const aDuration: Kind = {
  is: (value) => Option.isSome(Duration.fromInput(value as Duration.Input)),
  called: "a duration such as \"5 seconds\""
}

/** A duration that is longer than 0. */
export const aTimeLimit: Kind = {
  is: (value) => aDuration.is(value) && Duration.toMillis(value as Duration.Input) > 0,
  called: "a duration longer than 0, such as \"5 seconds\""
}

/** A list of one kind. */
export const listOf = (kind: Kind): Kind => ({
  is: (value) => Array.isArray(value) && value.every(kind.is),
  called: `a list of ${kind.called}`
})

/** One of several kinds. */
export const either = (...kinds: ReadonlyArray<Kind>): Kind => ({
  is: (value) => kinds.some((kind) => kind.is(value)),
  called: kinds.map(({ called }) => called).join(" or "),
  about: (value) => kinds.map(({ about }) => about?.(value)).find((sentence) => sentence !== undefined)
})

/** The options of a declaration: the kind of each, and the names that other libraries have for them. */
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

/**
 * Throws `ConfigurationError` for a name that is not known, and for a value of another kind. `within`: the path of options that are the value
 * of an option, such as `"budget."`.
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
    if (value !== undefined && !kind.is(value)) {
      const problem = kind.about?.(value) ?? `is ${shown(value)} and has to be ${kind.called}`
      throw new ConfigurationError({ subject, problem: `${within}${name} ${problem}` })
    }
  }
}
