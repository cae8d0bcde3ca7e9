/**
 * Names that objects, arrays and functions inherit, and some that programs look up: a server may send them as a key.
 * `length` is left out, because it is a finish reason.
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
