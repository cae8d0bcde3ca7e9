/** Numbers in JSON text that a double does not hold exactly: their digits are lost when the text is parsed. */
import { isRounded } from "./jsonShape.ts"

type Path = ReadonlyArray<string | number>

/** Only texts with such a run can hold a lossy number: 15 digits without an exponent always survive. */
const suspicious = /[\d.]{16}|\d[eE]/
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],]|-?\d[\d.eE+-]*/g

/** The digits of a decimal number without zeros around them, and the power of ten of the last one. */
const exactly = (literal: string): string => {
  const [mantissa = "", exponent = "0"] = literal.replace(/^-/, "").split(/[eE]/)
  const [whole = "", fraction = ""] = mantissa.split(".")
  const digits = (whole + fraction).replace(/^0+/, "")
  const significant = digits.replace(/0+$/, "")
  return significant === ""
    ? "0"
    : `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

/** True if parsing a number of JSON gives another number. */
const isLossy = (literal: string): boolean => {
  const value = Number(literal)
  return !Number.isFinite(value) || exactly(literal) !== exactly(String(Math.abs(value)))
}

/** An object or array that the scan is in. */
interface Frame {
  readonly isArray: boolean
  key: string | number
  /** True if the next text is a key. */
  isAtKey: boolean
}

/** Paths of the numbers in a valid JSON text that change when it is parsed. */
export const lossyNumbers = (text: string): ReadonlyArray<Path> => {
  if (!suspicious.test(text)) return []
  const found: Array<Path> = []
  const frames: Array<Frame> = []
  for (const [token] of text.matchAll(tokens)) {
    const frame = frames.at(-1)
    if (token === "{" || token === "[") {
      frames.push({ isArray: token === "[", key: token === "[" ? 0 : "", isAtKey: token === "{" })
    } else if (token === "}" || token === "]") {
      frames.pop()
    } else if (token === ",") {
      if (frame!.isArray) (frame!.key as number)++
      else frame!.isAtKey = true
    } else if (token.startsWith("\"")) {
      if (frame?.isAtKey === true) {
        frame.key = JSON.parse(token) as string
        frame.isAtKey = false
      }
    } else if (isLossy(token)) found.push(frames.map(({ key }) => key))
  }
  return found
}

/** Paths of the numbers in a JSON value that other digits may have been rounded to. */
export const roundedNumbers = (value: unknown, path: Path = []): ReadonlyArray<Path> => {
  if (isRounded(value)) return [path]
  if (Array.isArray(value)) return value.flatMap((item, index) => roundedNumbers(item, [...path, index]))
  return typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, item]) => roundedNumbers(item, [...path, key]))
    : []
}
