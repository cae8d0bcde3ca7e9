/** From a schema's issue tree to the flat list that errors carry: paths and expectations, never values. */
import type * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"
import type { Issue } from "../../ToolError.ts"

type Path = ReadonlyArray<string | number>

/** Reads only what a schema's author wrote as `expected`: a check's dynamic message may quote the value. */
const expectedByCheck = (check: SchemaAST.Check<never>): string | undefined => {
  if (typeof check.annotations?.["expected"] === "string") return `expected ${check.annotations["expected"]}`
  return check._tag === "FilterGroup"
    ? check.checks.map(expectedByCheck).find((expected) => expected !== undefined)
    : undefined
}

const expectedByType = (ast: SchemaAST.AST): string =>
  SchemaIssue.defaultLeafHook(new SchemaIssue.InvalidType(ast, undefined)).replace(/^E/, "e")

const invalid = (path: Path, expected: string): Array<Issue> => [{ path, expected, problem: "invalid" }]

const collect = (issue: SchemaIssue.Issue, path: Path, fromCheck: string | undefined): Array<Issue> => {
  switch (issue._tag) {
    case "Filter":
      return collect(issue.issue, path, fromCheck ?? expectedByCheck(issue.filter))
    case "Encoding":
      return collect(issue.issue, path, fromCheck)
    case "Pointer":
      return collect(
        issue.issue,
        [...path, ...issue.path.map((key) => typeof key === "symbol" ? String(key) : key)],
        fromCheck
      )
    case "Composite":
      return issue.issues.flatMap((child) => collect(child, path, fromCheck))
    case "AnyOf":
      return issue.issues.length === 0
        ? invalid(path, fromCheck ?? expectedByType(issue.ast))
        : issue.issues.flatMap((child) => collect(child, path, fromCheck))
    case "MissingKey":
      return [{ path, expected: "required", problem: "missing" }]
    case "UnexpectedKey":
      return [{ path, expected: "no such field", problem: "unexpected" }]
    case "InvalidType":
    case "OneOf":
      return invalid(path, fromCheck ?? expectedByType(issue.ast))
    case "InvalidValue":
    case "Forbidden":
      return invalid(path, fromCheck ?? "expected a valid value")
  }
}

/** The flat list for one failed decoding or encoding. */
export const fromIssue = (issue: SchemaIssue.Issue): ReadonlyArray<Issue> => collect(issue, [], undefined)
