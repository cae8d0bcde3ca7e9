/** The part of a value that JSON text would lose, for the message of a result or an argument that is no JSON. */
import * as Option from "effect/Option"
import { cutText } from "./jsonShape.ts"
import { toJson } from "./jsonValue.ts"

interface Lost {
  readonly path: ReadonlyArray<string | number>
  readonly kind: string
}

/** The deepest path that a message names. A longer one leads around a cycle. */
const maxPath = 32
const maxKey = 64

const isContainer = (value: unknown): value is object =>
  Array.isArray(value) ||
  (typeof value === "object" && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value)))

const kindOf = (value: unknown): string => {
  if (typeof value === "number") return String(value)
  return typeof value === "object" && value !== null ? `a ${value.constructor.name}` : `a ${typeof value}`
}

/** Returns the path and the kind of the first part that `toJson` refuses, never its value. Throws for a value that cannot be read. */
export const lostByJson = (value: unknown): Lost => {
  const path: Array<string | number> = []
  let part = value
  while (isContainer(part)) {
    const isArray = Array.isArray(part)
    const lost = Object.entries(part).find(([, item]) => item !== undefined && Option.isNone(toJson(item)))
    if (lost === undefined || path.length === maxPath) return { path: [], kind: "a cycle" }
    path.push(isArray ? Number(lost[0]) : cutText(lost[0], maxKey))
    part = lost[1]
  }
  return { path, kind: kindOf(part) }
}
