/** Files of a packed package: those that each package has, and those that none may have. */
import { statSync } from "node:fs"
import { join } from "node:path"
import type { PackedPackage } from "./packedPackage.ts"

/** Files that each package has. */
const required = ["AGENTS.md", "CHANGELOG.md", "LICENSE", "README.md", "package.json"]

/** Files that a package may have. Names have no dot before their extension, so `a.test.ts` is none of them. */
const allowed = [
  /^docs\/[\w-]+\.md$/,
  /^src\/(?:(?!(?:tests?|typetest|node_modules)\/)[\w-]+\/)*[\w-]+\.ts$/,
  /^dist\/(?:(?!(?:tests?|typetest|node_modules)\/)[\w-]+\/)*[\w~-]+\.(?:js|js\.map|d\.ts)$/,
  // Pages, and the licences of the libraries in them.
  /^dist\/web\/(?:\w+\.(?:html|svg|svg\.br)|licenses\.md|_studio\/[\w-]+\.(?:js|css|svg)(?:\.br)?)$/,
  // A project for `npm create`, with tests of its own.
  /^template\/(?:README\.md|_gitignore|package\.json|tsconfig\.json|(?:src|test)\/[\w.-]+\.ts)$/
]

const isAllowed = (file: string): boolean => required.includes(file) || allowed.some((pattern) => pattern.test(file))

/** Returns a sentence for each file that is missing, empty or not allowed. */
export const contentProblems = ({ files, folder, manifest: { name } }: PackedPackage): ReadonlyArray<string> => [
  ...required.filter((file) => !files.includes(file)).map((file) => `${name}: ${file} is missing.`),
  ...(files.some((file) => file.startsWith("docs/")) ? [] : [`${name}: no guide is in docs.`]),
  ...files.filter((file) => statSync(join(folder, file)).size === 0).map((file) => `${name}: ${file} is empty.`),
  ...files.filter((file) => !isAllowed(file)).map((file) => `${name}: ${file} does not belong into a package.`)
]
