/**
 * Content hash: distinguishes similar values, in one process and in the next. It covers the whole value, unlike
 * `roughHash`.
 */
import * as Option from "effect/Option"
import { canonicalJson } from "./canonicalJson.ts"
import { toJson } from "./jsonValue.ts"

/**
 * Returns a hash of 64 bits, in base 36. Equal JSON has equal hashes, in any order of its keys. A value that is no JSON
 * counts as null.
 */
export const contentHash = (value: unknown): string => {
  const text = canonicalJson(Option.getOrElse(toJson(value), () => null))
  let [a, b] = [0x811c9dc5, 0x9e3779b9]
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b + code, 0x85ebca6b) ^ (b >>> 13)
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36).padStart(7, "0")
}
