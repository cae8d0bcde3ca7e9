/**
 * Reach of mutants: says more exactly than Stryker's instrumenter which tests can notice one, so that no other test runs.
 *
 * A condition that a mutant makes `true` matters to the tests in which it was false once. A function that a mutant
 * empties is switched at its call, not at its definition: so a function of a module needs no reloaded module.
 */
import { type NodePath, type PluginObject, transformSync, types as t } from "@babel/core"

const [active, covers, valued] = ["stryMutAct_9fa48", "stryCov_9fa48", "recourseValued"] as const

const isCallOf = (name: string, node: t.Node | null | undefined): node is t.CallExpression =>
  t.isCallExpression(node) && t.isIdentifier(node.callee, { name })

const idOf = (node: t.Node | undefined): string => (node as t.StringLiteral).value

/** The function in its replacement: a named function is within one that is called at once. */
const functionIn = (node: t.Expression): t.ArrowFunctionExpression | undefined => {
  if (t.isArrowFunctionExpression(node)) return node
  if (!t.isCallExpression(node) || !t.isArrowFunctionExpression(node.callee)) return undefined
  const [first] = t.isBlockStatement(node.callee.body) ? node.callee.body.body : []
  const named = t.isVariableDeclaration(first) ? first.declarations[0]?.init : undefined
  return t.isArrowFunctionExpression(named) ? named : undefined
}

const ids = (known: ReadonlyArray<string>) => known.map((id) => t.stringLiteral(id))

/** Changed nodes, which are visited again. */
const seen = new WeakSet<t.Node>()

const plugin: PluginObject = {
  name: "reach",
  visitor: {
    ConditionalExpression(path: NodePath<t.ConditionalExpression>) {
      if (!isCallOf(active, path.node.test)) return
      const switched: Array<readonly [id: string, replacement: t.Expression, test: t.Expression]> = []
      let last: t.Expression = path.node
      while (t.isConditionalExpression(last) && isCallOf(active, last.test)) {
        switched.push([idOf(last.test.arguments[0]), last.consequent, last.test])
        last = last.alternate
      }
      if (!t.isSequenceExpression(last) || seen.has(last)) return
      seen.add(last)
      const [cover, original] = last.expressions
      if (!isCallOf(covers, cover) || original === undefined) return
      const body = functionIn(original)
      const emptied = switched.flatMap(([id, replacement]) =>
        body !== undefined && t.isArrowFunctionExpression(replacement) ? [id] : []
      )
      const conditions = (value: boolean) =>
        switched.flatMap(([id, replacement]) => t.isBooleanLiteral(replacement, { value }) ? [id] : [])
      const [whenFalse, whenTrue] = [conditions(true), conditions(false)]
      const apart = new Set([...emptied, ...whenFalse, ...whenTrue])
      cover.arguments = ids(switched.flatMap(([id]) => apart.has(id) ? [] : [id]))
      if (whenFalse.length + whenTrue.length > 0) {
        last.expressions[1] = t.callExpression(t.identifier(valued), [
          original,
          t.arrayExpression(ids(whenFalse)),
          t.arrayExpression(ids(whenTrue))
        ])
      }
      if (body === undefined || emptied.length === 0) return
      const isEmptied = emptied.map((id) => t.callExpression(t.identifier(active), ids([id])))
        .reduce<t.Expression>((one, other) => t.logicalExpression("||", one, other), t.booleanLiteral(false))
      const called = t.callExpression(t.identifier(covers), ids(emptied))
      body.body = t.isBlockStatement(body.body)
        ? t.blockStatement(
          [t.ifStatement(isEmptied, t.returnStatement()), t.expressionStatement(called), ...body.body.body],
          body.body.directives
        )
        : t.conditionalExpression(
          isEmptied,
          t.identifier("undefined"),
          t.sequenceExpression([called, body.body])
        )
      path.replaceWith(
        switched.filter(([id]) => !emptied.includes(id)).reduceRight<t.Expression>(
          (otherwise, [, replacement, test]) => t.conditionalExpression(test, replacement, otherwise),
          last
        )
      )
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
