import { assert, describe, it } from "@effect/vitest"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { declaredImports, problemsOf, valueImports } from "../../scripts/packageImports.ts"
import { root } from "./support/workspace.ts"

const manifest = {
  name: "@recourse/a",
  dependencies: { "used": "1" },
  peerDependencies: { "effect": "4", "@scope/peer": "1", "optional": "1" },
  peerDependenciesMeta: { optional: { optional: true } }
}

describe("imports of modules that npm does not install with a package", () => {
  it.each<readonly [source: string, found: ReadonlyArray<string>]>([
    [`import { a } from "optional"`, ["optional"]],
    [`import {\n  a,\n  type B\n} from "optional/deep"`, ["optional/deep"]],
    [`import { type B } from "optional"`, ["optional"]],
    [`import "optional"`, ["optional"]],
    [`import * as Optional from 'optional'`, ["optional"]],
    [`export * from "optional"`, ["optional"]],
    [`export { a } from "unknown"`, ["unknown"]],
    [`import { a } from "@scope/other"`, ["@scope/other"]],
    [`import type { B } from "optional"`, []],
    [`export type { B } from "optional"`, []],
    [`const load = () => import("optional")`, []],
    [` * import { a } from "optional"`, []],
    [`import a from "used"\nimport { b } from "@scope/peer/deep"\nimport { c } from "effect"`, []],
    [`import { a } from "./optional.ts"\nimport { join } from "node:path"\nimport b from "@recourse/a/B"`, []]
  ])("are found in %j as %j", (source, found) => {
    assert.deepStrictEqual(valueImports(manifest, source), found)
  })

  it.each<readonly [declaration: string, found: ReadonlyArray<string>]>([
    [`import type { B } from "optional"`, ["optional"]],
    [`export declare const a: import("optional").B`, ["optional"]],
    [`export declare const a: Promise<typeof import("optional/deep")>`, ["optional/deep"]],
    [`export * from "unknown"`, ["unknown"]],
    [`/// <reference types="unknown" />`, ["unknown"]],
    [`/**\n * import { a } from "optional"\n */\nexport declare const a: import("effect").Effect`, []]
  ])("are found in the declaration %j as %j", (declaration, found) => {
    assert.deepStrictEqual(declaredImports(manifest, declaration), found)
  })

  it("are in no package", () => {
    const folders = readdirSync(join(root, "packages"))
    assert.deepStrictEqual(folders.flatMap((folder) => problemsOf(join(root, "packages", folder))), [])
  })
})
