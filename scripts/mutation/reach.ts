/**
 * Reach of mutants: says more exactly than Stryker's instrumenter which tests can notice one, so that no other test runs.
 *
 * A condition that a mutant makes `true` matters to the tests in which it was false once, and a function that a mutant
 * empties matters to those that call it.
 */
import { type NodePath, type PluginObject, transformSync, types as t } from "@babel/core"

const [active, covers, valued] = ["stryMutAct_9fa48", "stryCov_9fa48", "recourseValued"] as const

const isCallOf = (name: string, node: t.Node | null | undefined): node is t.CallExpression =>
  t.isCallExpression(node) && t.isIdentifier(node.callee, { name })

const idOf = (node: t.Node | undefined): string => (node as t.StringLiteral).value

/** The function in what stands for it: a function that has a name is within one that is called at once. */
const functionIn = (node: t.Expression): t.ArrowFunctionExpression | undefined => {
  if (t.isArrowFunctionExpression(node)) return node
  if (!t.isCallExpression(node) || !t.isArrowFunctionExpression(node.callee)) return undefined
  const [first] = t.isBlockStatement(node.callee.body) ? node.callee.body.body : []
  const named = t.isVariableDeclaration(first) ? first.declarations[0]?.init : undefined
  return t.isArrowFunctionExpression(named) ? named : undefined
}

const ids = (known: ReadonlyArray<string>) => known.map((id) => t.stringLiteral(id))

const plugin: PluginObject = {
  name: "reach",
  visitor: {
    ConditionalExpression(path: NodePath<t.ConditionalExpression>) {
      if (!isCallOf(active, path.node.test)) return
      const replacements = new Map<string, t.Expression>()
      let last: t.Expression = path.node
      while (t.isConditionalExpression(last) && isCallOf(active, last.test)) {
        replacements.set(idOf(last.test.arguments[0]), last.consequent)
        last = last.alternate
      }
      if (!t.isSequenceExpression(last)) return
      const [cover, original] = last.expressions
      if (!isCallOf(covers, cover) || original === undefined) return
      const body = functionIn(original)
      const [whenFalse, whenTrue, whenCalled, others]: [Array<string>, Array<string>, Array<string>, Array<string>] = [
        [],
        [],
        [],
        []
      ]
      for (const argument of cover.arguments) {
        const id = idOf(argument)
        const replacement = replacements.get(id)
        if (t.isBooleanLiteral(replacement)) (replacement.value ? whenFalse : whenTrue).push(id)
        else if (body !== undefined && t.isArrowFunctionExpression(replacement)) whenCalled.push(id)
        else others.push(id)
      }
      cover.arguments = ids(others)
      if (whenFalse.length + whenTrue.length > 0) {
        last.expressions[1] = t.callExpression(t.identifier(valued), [
          original,
          t.arrayExpression(ids(whenFalse)),
          t.arrayExpression(ids(whenTrue))
        ])
      }
      if (body !== undefined && whenCalled.length > 0) {
        const called = t.callExpression(t.identifier(covers), ids(whenCalled))
        body.body = t.isBlockStatement(body.body)
          ? t.blockStatement([t.expressionStatement(called), ...body.body.body])
          : t.sequenceExpression([called, body.body])
      }
    }
  }
}

/** The code with exact reach. */
export const withReach = (code: string): string => {
  const changed = transformSync(code, {
    configFile: false,
    babelrc: false,
    parserOpts: { plugins: ["typescript"] },
    plugins: [() => plugin],
    generatorOpts: { retainLines: false }
  })
  return `${changed!.code!}
function ${valued}(value, whenFalse, whenTrue) {
  if (value !== true) ${covers}(...whenFalse)
  if (value !== false) ${covers}(...whenTrue)
  return value
}
`
}
