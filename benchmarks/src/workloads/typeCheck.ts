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
    const cost = (tools: number) => {
      const costs = Array.from(
        { length: form === "full" ? 5 : 1 },
        () => compile(folder, sourceOf(name, tools), tsconfig)
      )
      // A first run reads cold files: the difference of medians was below zero.
      return { seconds: Math.min(...costs.map(({ seconds }) => seconds)), instantiations: costs[0]!.instantiations }
    }
    const [imports, whole] = [cost(0), cost(size)]
    return {
      check: whole.seconds - imports.seconds,
      instantiations: (whole.instantiations - imports.instantiations) / 1_000
    }
  }
}
