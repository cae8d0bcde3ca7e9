/**
 * Pure initialisers: marks what a module computes when it is loaded as free of effects, so that bundlers drop what a program does not use.
 *
 * A module in a file of its own is dropped as a whole. In a file of many modules, a bundler keeps each constant whose initialiser calls,
 * reads a property or spreads. Statements keep their effects: they are not marked.
 */
import { parseAst } from "rolldown/parseAst"

type Statement = ReturnType<typeof parseAst>["body"][number]
type Class = Extract<Statement, { readonly superClass: unknown }>
type Expression = NonNullable<Class["superClass"]>

/** A piece of the source that becomes the body of a function, which is called at once. */
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

const wrapped = (expression: Expression | null): ReadonlyArray<Wrapping> =>
  expression === null || free.has(asserted(expression).type)
    ? []
    : [{ start: expression.start, end: expression.end, before: "/* @__PURE__ */ (() => (", after: "))()" }]

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

const ofStatement = (statement: Statement): ReadonlyArray<Wrapping> => {
  const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
  switch (declaration?.type) {
    case "VariableDeclaration":
      return declaration.declarations.flatMap(({ init }) => wrapped(init))
    case "ClassDeclaration":
      return ofClass(declaration)
    default:
      return []
  }
}

/** The initialisers at the top level of a module in TypeScript, in their order. */
export const pureInitialisers = (source: string): ReadonlyArray<Wrapping> =>
  parseAst(source, { lang: "ts" }).body.flatMap(ofStatement)
