/** Reads a call's raw arguments: one complete JSON object, or a list of issues. Nothing is repaired or defaulted. */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as AiTool from "effect/ai/Tool"
import type { Issue } from "../../ToolError.ts"

const syntax = (expected: string): ReadonlyArray<Issue> => [{ path: [], expected, problem: "syntax" }]

/** Where the first JSON object of a text ends: an index, or `undefined` when it is cut off. */
const endOfFirstObject = (text: string): number | undefined => {
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (inString) {
      if (char === "\\") i++
      else if (char === "\"") inString = false
    } else if (char === "\"") inString = true
    else if (char === "{" || char === "[") depth++
    else if ((char === "}" || char === "]") && --depth === 0) return i + 1
  }
  return undefined
}

const explain = (text: string): ReadonlyArray<Issue> => {
  const trimmed = text.trim()
  if (!trimmed.startsWith("{")) return syntax("expected one JSON object")
  const end = endOfFirstObject(trimmed)
  if (end === undefined) return syntax("expected one complete JSON object: the text is cut off")
  if (end < trimmed.length) return syntax("expected one JSON object: there is more text behind the first")
  return syntax("expected valid JSON: the object does not parse")
}

const parse = (text: string): unknown => {
  try {
    return AiTool.unsafeSecureJsonParse(text)
  } catch {
    return undefined
  }
}

/** The JSON object that raw arguments hold: already an object, or the text of one. */
export const read = (raw: unknown): Result.Result<Record<string, unknown>, ReadonlyArray<Issue>> => {
  const value = typeof raw === "string" ? parse(raw) : raw
  return Predicate.isObject(value)
    ? Result.succeed(value as Record<string, unknown>)
    : Result.fail(typeof raw === "string" && value === undefined ? explain(raw) : syntax("expected one JSON object"))
}

/** Raw arguments as text, for people and fixers. */
export const toText = (raw: unknown): string => typeof raw === "string" ? raw : JSON.stringify(raw) ?? String(raw)
