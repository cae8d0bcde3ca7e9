/** Assignments of fields in the core, by the class or the interface that declares the field. The compiler resolves them. */
import { join, relative } from "node:path"
import { type Node, type PropertyAccessExpression, SyntaxKind } from "typescript/unstable/ast"
import { API, type Project } from "typescript/unstable/sync"

/** A field that is assigned in another file than the one that declares it. */
export interface Assignment {
  readonly declaredIn: string
  readonly owner: string
  readonly field: string
  readonly assignedIn: string
}

const isAssigned = (node: PropertyAccessExpression): boolean => {
  const parent = node.parent as Node & {
    readonly left?: Node
    readonly operatorToken?: Node
    readonly operator?: SyntaxKind
  }
  if (parent.kind === SyntaxKind.BinaryExpression) {
    const operator = parent.operatorToken!.kind
    return parent.left === node && operator >= SyntaxKind.FirstAssignment && operator <= SyntaxKind.LastAssignment
  }
  return (parent.kind === SyntaxKind.PrefixUnaryExpression || parent.kind === SyntaxKind.PostfixUnaryExpression) &&
    (parent.operator === SyntaxKind.PlusPlusToken || parent.operator === SyntaxKind.MinusMinusToken)
}

/** The assigned fields of a file. */
const assignedIn = (project: Project, file: string): ReadonlyArray<PropertyAccessExpression> => {
  const found: Array<PropertyAccessExpression> = []
  const visit = (node: Node): void => {
    if (node.kind === SyntaxKind.PropertyAccessExpression && isAssigned(node as PropertyAccessExpression)) {
      found.push(node as PropertyAccessExpression)
    }
    node.forEachChild(visit)
  }
  const source = project.program.getSourceFile(file)
  if (source !== undefined) visit(source)
  return found
}

/** The assignments of fields of other files in the core of a checkout. */
export const assignmentsOf = (root: string): ReadonlyArray<Assignment> => {
  const api = new API({ cwd: root })
  try {
    const config = join(root, "packages/core/tsconfig.json")
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)!
    const files = project.program.getSourceFileNames().filter((file) =>
      file.startsWith(join(root, "packages/core/src/"))
    )
    return files.flatMap((file) =>
      assignedIn(project, file).flatMap(({ name }) => {
        const declaration = project.checker.getSymbolAtLocation(name)?.declarations?.[0]?.resolve(project)
        const owner = declaration?.parent as (Node & { readonly name?: { readonly text: string } }) | undefined
        const declaredIn = declaration?.getSourceFile().fileName
        return declaredIn === undefined || declaredIn === file || !files.includes(declaredIn) ||
            owner?.name === undefined
          ? []
          : [{
            declaredIn: relative(root, declaredIn),
            owner: owner.name.text,
            field: name.text,
            assignedIn: relative(root, file)
          }]
      })
    )
  } finally {
    api.close()
  }
}
