/**
 * Issues of a Standard Schema as issues of effect, with the messages of its author. Errors carry paths and
 * expectations, and never values. Libraries such as valibot quote the value in the message, so the value is removed.
 */
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import type { StandardSchemaV1 } from "effect/StandardSchema"

/** The texts and numbers of a value that a message may quote. One and two characters are too common to be removed. */
const quotable = (value: unknown, depth = 0): ReadonlyArray<string> => {
  if (typeof value === "string") return [JSON.stringify(value).slice(1, -1), value].filter(({ length }) => length > 2)
  if (typeof value === "number" || typeof value === "bigint") return [String(value)].filter(({ length }) => length > 2)
  return typeof value === "object" && value !== null && depth < 4
    ? Object.values(value).slice(0, 100).flatMap((item) => quotable(item, depth + 1))
    : []
}

/** Removes a value from a message. The longest text is first, because it may contain the others. */
const withoutValue = (text: string, value: unknown): string =>
  [...quotable(value)]
    .sort((a, b) => b.length - a.length)
    .reduce((rest, quoted) => rest.replaceAll(quoted, "…"), text)

const isObject = (value: unknown): value is Readonly<Record<PropertyKey, unknown>> =>
  typeof value === "object" && value !== null

const keyOf = (segment: PropertyKey | StandardSchemaV1.PathSegment): PropertyKey =>
  typeof segment === "object" ? segment.key : segment

const issueOf = ({ message, path: segments = [] }: StandardSchemaV1.Issue, input: unknown): SchemaIssue.Issue => {
  const path = segments.map(keyOf)
  let value = input
  let isMissing = false
  for (const key of path) {
    isMissing = !isObject(value) || !Object.hasOwn(value, key)
    value = isMissing ? undefined : (value as Readonly<Record<PropertyKey, unknown>>)[key]
  }
  const text = withoutValue(message, value)
  const leaf = isMissing
    ? new SchemaIssue.MissingKey(text === "" ? undefined : { messageMissingKey: text })
    : new SchemaIssue.InvalidValue(text === "" ? undefined : { message: text }, value, { reportInput: true })
  return path.length === 0 ? leaf : new SchemaIssue.Pointer(path, leaf)
}

/** Returns the issues of a Standard Schema as one issue of effect. */
export const fromStandardIssues = (
  issues: ReadonlyArray<StandardSchemaV1.Issue>,
  input: unknown
): SchemaIssue.Issue => {
  const [first = new SchemaIssue.InvalidValue(), ...others] = issues.map((issue) => issueOf(issue, input))
  return new SchemaIssue.Composite(Schema.Unknown.ast, [first, ...others])
}
