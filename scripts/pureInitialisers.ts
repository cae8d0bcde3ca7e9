/**
 * Pure initialisers: marks a module's computations at loading as free of effects, so that bundlers drop code that a
 * program does not use.
 *
 * A module in a file of its own is dropped as a whole. In a file of many modules, a bundler keeps each constant whose initialiser calls,
 * reads a property or spreads. A call gets a mark; a function around other computations gets one. Statements and patterns cannot be
 * marked, and are refused.
 */
import { parseAst } from "rolldown/parseAst"

type Statement = ReturnType<typeof parseAst>["body"][number]
type Class = Extract<Statement, { readonly superClass: unknown }>
type Expression = NonNullable<Class["superClass"]>

/** A piece of the source, and the text before and behind it. */
export interface Wrapping {
  readonly start: number
  readonly end: number
  readonly before: string
  readonly after: string
}

const free = new Set(["Literal", "Identifier", "ArrowFunctionExpression", "FunctionExpression"])

/** An expression without its parentheses and assertions of types. */
const asserted = (expression: Expression): Expression => {
  switch (expression.type) {
    case "ParenthesizedExpression":
    case "TSAsExpression":
    case "TSNonNullExpression":
    case "TSSatisfiesExpression":
      return asserted(expression.expression)
    default:
      return expression
  }
}

type Part = Expression | { readonly type: "SpreadElement" } | null

const allCalls = (parts: ReadonlyArray<Part>): ReadonlyArray<number> | undefined => {
  const all = parts.map((part) => part === null || part.type === "SpreadElement" ? undefined : calls(part))
  return all.every((one) => one !== undefined) ? all.flat() : undefined
}

/** Offsets of the calls among the arguments of a chain, such as `f(a).b(c)`. One mark before a chain holds for its calls. */
const chained = (given: Expression): ReadonlyArray<number> | undefined => {
  const expression = asserted(given)
  if (free.has(expression.type)) return []
  switch (expression.type) {
    case "MemberExpression":
      return expression.computed ? undefined : chained(expression.object)
    case "CallExpression": {
      const before = chained(expression.callee)
      const within = allCalls(expression.arguments)
      return before && within && [...before, ...within]
    }
    default:
      return undefined
  }
}

/** Offsets of the calls of an expression whose only effects are theirs; undefined for other expressions. */
const calls = (given: Expression): ReadonlyArray<number> | undefined => {
  const expression = asserted(given)
  // Rolldown keeps some patterns within other values.
  if (expression.type === "Literal" && "regex" in expression) return undefined
  if (free.has(expression.type)) return []
  switch (expression.type) {
    case "TemplateLiteral":
      return expression.expressions.length === 0 ? [] : undefined
    case "UnaryExpression":
      return expression.argument.type === "Literal" ? [] : undefined
    case "ArrayExpression":
      return allCalls(expression.elements)
    case "ObjectExpression":
      return allCalls(
        expression.properties.map((property) =>
          property.type === "SpreadElement" || property.computed ? null : property.value
        )
      )
    case "CallExpression": {
      const within = chained(expression)
      return within && [expression.start, ...within]
    }
    case "NewExpression": {
      const within = allCalls(expression.arguments)
      return within && expression.callee.type === "Identifier" ? [expression.start, ...within] : undefined
    }
    default:
      return undefined
  }
}

const wrapped = (expression: Expression | null): ReadonlyArray<Wrapping> => {
  if (expression === null || free.has(asserted(expression).type)) return []
  const { end, start } = expression
  return calls(expression)?.map((at) => ({ start: at, end: at, before: "/* @__PURE__ */ ", after: "" })) ??
    [{ start, end, before: "/* @__PURE__ */ (() => (", after: "))()" }]
}

/** A class whose body computes keys, or has a block that runs once: a constant, whose function makes the class. */
const wrappedClass = ({ end, id, start }: Class): ReadonlyArray<Wrapping> => [{
  start,
  end,
  before: `const ${id?.name} = /* @__PURE__ */ (() => { `,
  after: `; return ${id?.name} })()`
}]

const ofClass = (declaration: Class): ReadonlyArray<Wrapping> => {
  const members = declaration.body.body
  return members.some((member) => member.type === "StaticBlock" || ("computed" in member && member.computed))
    ? wrappedClass(declaration)
    : [
      ...wrapped(declaration.superClass),
      ...members.flatMap((member) => member.type === "PropertyDefinition" && member.static ? wrapped(member.value) : [])
    ]
}

const refuse = ({ start, type }: { readonly start: number; readonly type: string }): never => {
  throw new Error(
    `A bundler keeps the ${type} at offset ${start}, used or not. Put it into an initialiser or a static block.`
  )
}

const ofStatement = (statement: Statement): ReadonlyArray<Wrapping> => {
  const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
  if (declaration === null) return []
  switch (declaration.type) {
    case "VariableDeclaration":
      return declaration.declarations.flatMap(({ id, init }) => id.type === "Identifier" ? wrapped(init) : refuse(id))
    case "ClassDeclaration":
      return ofClass(declaration)
    case "ExportAllDeclaration":
    case "FunctionDeclaration":
    case "ImportDeclaration":
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return []
    default:
      return refuse(declaration)
  }
}

/**
 * The initialisers at the top level of a module in TypeScript, in their order: functions of those that compute more than
 * calls. Throws for code that a bundler keeps in any case.
 */
export const pureInitialisers = (source: string): ReadonlyArray<Wrapping> =>
  parseAst(source, { lang: "ts" }).body.flatMap(ofStatement)
