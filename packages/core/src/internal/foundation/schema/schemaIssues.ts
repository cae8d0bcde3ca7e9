/**
 * Schema issues as the flat list that errors carry: paths and expectations, never values. Bounded: the first ten
 * issues, and how many more there are.
 */
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"
import type { Issue } from "../../../ToolError.ts"
import { cutText } from "../json/jsonShape.ts"

type Path = ReadonlyArray<string | number>

/** Number of listed issues. */
const maxIssues = 10
/** The longest expectation, the longest key of a path, the longest path. */
const maxText = 400
const maxKey = 64
const maxPath = 32
/** Number of listed values of an enumeration. */
const maxValues = 20

/** Options of texts about a schema. */
export interface Options {
  /**
   * True if messages of the schema's author are shown, except those that quote the value. Default: false. The issue has
   * to report its input.
   */
  readonly messages?: boolean
}

const message = (options: Options, annotations: { readonly [key: string]: unknown } | undefined, key = "message") =>
  options.messages === true && typeof annotations?.[key] === "string" ? annotations[key] : undefined

const expected = (annotations: { readonly [key: string]: unknown } | undefined): string | undefined =>
  typeof annotations?.["expected"] === "string" ? `expected ${annotations["expected"]}` : undefined

/** True if a message contains the value, or a part of it: a text, or a number of three digits and more. */
const quotes = (text: string, input: unknown, depth = 0): boolean => {
  if (typeof input === "string" || typeof input === "number" || typeof input === "bigint") {
    const value = String(input)
    return value.length > 2 && text.includes(value)
  }
  return typeof input === "object" && input !== null && depth < 4 &&
    Object.values(input).slice(0, 100).some((item) => quotes(text, item, depth + 1))
}

/** Message of a check or a transformation, made for this value. */
const answered = (issue: SchemaIssue.InvalidValue | SchemaIssue.Forbidden, options: Options): string | undefined => {
  const text = message(options, issue.annotations)
  return text === undefined || !SchemaIssue.hasInput(issue) || quotes(text, issue.input) ? undefined : text
}

const isUnsafeInteger = (input: unknown): boolean => Number.isInteger(input) && !Number.isSafeInteger(input)

/** Message of a check: its author's, or its expectation. */
const saidByCheck = (issue: SchemaIssue.Filter, options: Options): string | undefined => {
  const { annotations } = issue.filter
  const said = message(options, annotations) ?? expected(annotations)
  return said === "expected an integer" && SchemaIssue.hasInput(issue) && isUnsafeInteger(issue.input)
    ? "expected a safe integer: this one has more digits than a number can hold"
    : said
}

const expectedByType = (ast: SchemaAST.AST, options: Options): string => {
  const said = message(options, ast.annotations)
  if (said !== undefined) return said
  if (SchemaAST.isUnion(ast) && ast.types.length > maxValues && ast.annotations?.["expected"] === undefined) {
    const first = ast.types.slice(0, maxValues).map((type) => expectedByType(type, options).replace(/^expected /, ""))
    return `expected ${first.join(" | ")} | ${ast.types.length - maxValues} more`
  }
  return withoutNonFinite(
    SchemaIssue.defaultLeafHook(new SchemaIssue.InvalidType(ast, undefined)).replace("Expected ", "expected ")
  )
}

/** The texts of the JSON form of a number, which no model is sent. */
const nonFinite = `"Infinity" | "-Infinity" | "NaN"`

const withoutNonFinite = (text: string): string =>
  text === `expected ${nonFinite}` ? "expected number" : text.replaceAll(` | ${nonFinite}`, "")

/** A list that is filled up to its bound, and counted beyond. */
class Issues {
  readonly list: Array<Issue> = []
  readonly options: Options
  count = 0
  allMissing = true
  constructor(options: Options) {
    this.options = options
  }
  add(path: Path, text: string, problem: Issue["problem"]): void {
    this.count++
    if (problem !== "missing") this.allMissing = false
    if (this.list.length < maxIssues) {
      this.list.push({ path: path.slice(0, maxPath), expected: cutText(text, maxText), problem })
    }
  }
  get complete(): ReadonlyArray<Issue> {
    return this.count === this.list.length ? this.list : [...this.list, {
      path: [],
      expected: `and ${this.count - this.list.length} more`,
      problem: this.allMissing ? "missing" : "invalid"
    }]
  }
}

const keyOf = (key: PropertyKey): string | number => typeof key === "number" ? key : cutText(String(key), maxKey)

const collect = (into: Issues, issue: SchemaIssue.Issue, path: Path, said: string | undefined): void => {
  const { options } = into
  switch (issue._tag) {
    case "Filter":
      return collect(into, issue.issue, path, said ?? saidByCheck(issue, options))
    case "Encoding":
      return collect(into, issue.issue, path, said ?? message(options, issue.ast.annotations))
    case "Pointer":
      return collect(into, issue.issue, [...path, ...issue.path.map(keyOf)], said)
    case "Composite":
      for (const child of issue.issues) collect(into, child, path, said)
      return
    case "AnyOf":
      if (said === undefined && issue.issues.length === 1) return collect(into, issue.issues[0]!, path, undefined)
      return into.add(path, said ?? eitherOr(issue, options) ?? expectedByType(issue.ast, options), "invalid")
    case "MissingKey":
      return into.add(path, message(options, issue.annotations, "messageMissingKey") ?? "required", "missing")
    case "UnexpectedKey":
      return into.add(path, "no such field", "unexpected")
    case "InvalidType":
      if (SchemaAST.isNever(issue.ast) && said === undefined) return into.add(path, "no such field", "unexpected")
      return into.add(path, said ?? expectedByType(issue.ast, options), "invalid")
    case "OneOf":
      return into.add(path, said ?? expectedByType(issue.ast, options), "invalid")
    case "InvalidValue":
    case "Forbidden":
      return into.add(
        path,
        said ?? answered(issue, options) ?? expected(issue.annotations) ?? "expected a valid value",
        "invalid"
      )
  }
}

/** Missing parts of each member of a union, if several members are possible. */
const eitherOr = ({ issues }: SchemaIssue.AnyOf, options: Options): string | undefined => {
  if (issues.length < 2) return undefined
  const members = issues.slice(0, maxIssues).map((member) => {
    const lacks = new Issues(options)
    collect(lacks, member, [], undefined)
    return describe(lacks.complete, ", ")
  })
  return `expected one of: ${[...new Set(members)].map((member) => `(${member})`).join(" or ")}`
}

/** The flat list for one failed decoding or encoding. */
export const fromIssue = (issue: SchemaIssue.Issue, options: Options = {}): ReadonlyArray<Issue> => {
  const issues = new Issues(options)
  collect(issues, issue, [], undefined)
  return issues.complete
}

/** A list of issues as text. */
export const describe = (issues: ReadonlyArray<Issue>, separator = "; "): string =>
  issues.map(({ expected, path }) => path.length === 0 ? expected : `${path.join(".")}: ${expected}`).join(separator)
