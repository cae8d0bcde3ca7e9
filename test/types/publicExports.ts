/** Exports of the packages at run time: the functions among them have displayed result types. */
import { Context, Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { publicModules } from "../../scripts/publicModules.ts"

const packages = join(import.meta.dirname, "../../packages")

/** An exported function: neither a class nor a schema nor a service. */
export interface ExportedFunction {
  /** `@recourse/core/Agent`. */
  readonly module: string
  /** `Agent`. */
  readonly namespace: string
  /** `make`. */
  readonly name: string
}

const isFunction = (value: unknown): boolean =>
  typeof value === "function" && !Schema.isSchema(value) && !Context.isKey(value) &&
  !Function.prototype.toString.call(value).startsWith("class")

/** The functions that a program can import, in the order of their modules. */
export const exportedFunctions = async (): Promise<ReadonlyArray<ExportedFunction>> => {
  const found: Array<ExportedFunction> = []
  for (const folder of readdirSync(packages).toSorted()) {
    const { name: packageName } = JSON.parse(readFileSync(join(packages, folder, "package.json"), "utf8"))
    for (const namespace of publicModules(folder).filter((module) => /^[A-Z]/.test(module))) {
      const exports: Record<string, unknown> = await import(join(packages, folder, "src", `${namespace}.ts`))
      for (const [name, value] of Object.entries(exports)) {
        if (isFunction(value)) found.push({ module: `${packageName}/${namespace}`, namespace, name })
      }
    }
  }
  return found
}
