/** The name that a constructor takes as its first argument. */
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { kindOf } from "./valueKind.ts"

/** Throws `ConfigurationError` for a name that is no string. `of`: the kind of its owner; `example`: a name of one. */
export function checkName(constructor: string, of: string, example: string, name: unknown): asserts name is string {
  if (typeof name === "string") return
  throw new ConfigurationError({
    subject: constructor,
    problem: `its first argument is ${
      kindOf(name)
    } and has to be the ${of}'s name: ${constructor}("${example}", { ... })`
  })
}
