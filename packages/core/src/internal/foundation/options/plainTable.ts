/** Plain tables: refuses a table by name whose prototype was set, as its entry would be there for the compiler alone. */
import { ConfigurationError } from "../../../ConfigurationError.ts"

/** Throws for `{ __proto__: value }`, which sets what a table inherits and gives it no entry. `{ ["__proto__"]: value }` does. */
export const refusePrototype = (subject: string, table: object): void => {
  const prototype: unknown = Object.getPrototypeOf(table)
  if (prototype === Object.prototype || prototype === null) return
  throw new ConfigurationError({
    subject,
    problem: "its table has a prototype of its own, which is no entry: write the name in brackets, [\"__proto__\"]"
  })
}
