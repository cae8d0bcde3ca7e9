/** Checks the declarations of modules and of their imports by a compiler. */
import { assert } from "@effect/vitest"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "./workspace.ts"

/** Fails with the errors of the compiler in that folder. */
export const typeCheck = async (compiler: string, modules: ReadonlyArray<string>, folder: string): Promise<void> => {
  const { version } = JSON.parse(readFileSync(join(compiler, "package.json"), "utf8")) as { readonly version: string }
  const name = `types-${version}`
  writeFileSync(
    join(folder, `${name}.ts`),
    modules.map((module, at) => `export * as m${at} from ${JSON.stringify(module)}\n`).join("")
  )
  writeFileSync(
    join(folder, `${name}.json`),
    JSON.stringify({
      compilerOptions: { module: "NodeNext", target: "ES2022", strict: true, noEmit: true, skipLibCheck: false },
      files: [`${name}.ts`]
    })
  )
  const output = await run(process.execPath, [join(compiler, "bin/tsc"), "--project", `${name}.json`], folder)
  assert.strictEqual(output, "", `TypeScript ${version}`)
}
