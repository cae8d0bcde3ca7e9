/**
 * Names that objects, arrays and functions inherit, and some that programs look for: what a server may send where a program looks a
 * word up. `length` is left out, as it is a finish reason.
 */
export const inheritedNames: ReadonlyArray<string> = Array.from(
  new Set([
    ...[Object, Array, Function].flatMap((of) => Object.getOwnPropertyNames(of.prototype)),
    "__proto__",
    "prototype",
    "then",
    "toJSON",
    "_tag"
  ])
).filter((name) => name !== "length")
