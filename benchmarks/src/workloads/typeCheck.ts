import { fileURLToPath } from "node:url"
import { compile } from "../../../scripts/typeCost.ts"
import type { ContestantName } from "../Contestant.ts"
import { programs, sourceOf } from "../manyTools.ts"
import type { Workload } from "../Workload.ts"

const results = fileURLToPath(new URL("../../results/", import.meta.url))

const tsconfig = {
  extends: "../../../tsconfig.base.json",
  compilerOptions: {
    noEmit: true,
    declaration: false,
    noUnusedLocals: false,
    exactOptionalPropertyTypes: false,
    types: ["node"]
  }
}

export const workload: Workload = {
  title: "Type-check of a program with 60 tools, without its imports",
  contestants: Object.keys(programs) as ReadonlyArray<ContestantName>,
  cases: { full: [60], quick: [60], check: [3] },
  metrics: [{ name: "check", unit: "s" }, { name: "instantiations", unit: "thousands" }],
  rounds: { full: 1, quick: 1, check: 1 },
  measure: async ({ form, name, size }) => {
    const folder = `${results}types-${name.replace(/\W/g, "")}`
    const compiled = (tools: number) => compile(folder, sourceOf(name, tools), tsconfig)
    // In turns, and the fastest of each: what else the machine does would make the difference negative.
    const pairs = Array.from(
      { length: form === "full" ? 5 : 1 },
      () => ({ imports: compiled(0), whole: compiled(size) })
    )
    const cost = (of: "imports" | "whole") => ({
      seconds: Math.min(...pairs.map((pair) => pair[of].seconds)),
      instantiations: pairs[0]![of].instantiations
    })
    const [imports, whole] = [cost("imports"), cost("whole")]
    return {
      check: whole.seconds - imports.seconds,
      instantiations: (whole.instantiations - imports.instantiations) / 1_000
    }
  }
}
