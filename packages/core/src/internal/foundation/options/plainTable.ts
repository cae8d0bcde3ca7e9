/** Plain tables: refuses a table by name whose prototype was set, because only the compiler would see its entry. */
import { ConfigurationError } from "../../../ConfigurationError.ts"

/**
 * Throws for `{ __proto__: value }`, which sets the prototype of a table and no entry. `{ ["__proto__"]: value }` sets
 * an entry.
 */
export const refusePrototype = (subject: string, table: object): void => {
  const prototype: unknown = Object.getPrototypeOf(table)
  if (prototype === Object.prototype || prototype === null) return
  throw new ConfigurationError({
    subject,
    problem: "its table has a prototype of its own, which is no entry: write the name in brackets, [\"__proto__\"]"
  })
}
