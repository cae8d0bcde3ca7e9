/**
 * Checks the compiler's cost of types: the instantiations of typical programs, against the recorded ones.
 *
 * `node scripts/check-type-cost.ts` compiles the programs and fails if one costs more than its limit. `--record` stores
 * their present cost. The cost of reading the library itself is not counted.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { compile as compileIn } from "./typeCost.ts"

const root = join(import.meta.dirname, "..")
const recorded = join(import.meta.dirname, "type-cost.json")
const folder = join(root, "node_modules/.cache/type-cost")

/**
 * Allowed cost of a program. `limit` is a decision, `instantiations` a measurement: above it by 2 %, a person has to
 * look.
 */
interface Cost {
  readonly limit: number
  readonly instantiations: number
}

const imports = `import { Data, Effect, Schema } from "effect"
import { Agent, Policy, Recovery, Skill, Tool } from "@recourse/core"
class Down extends Data.TaggedError("Down") {}
class Gone extends Data.TaggedError("Gone")<{ readonly id: string }> {}
export const used = [Effect, Schema, Agent, Policy, Recovery, Skill, Tool, Down, Gone]
`

const tool = (index: number, pipe = ""): string =>
  `const tool${index} = Tool.make("tool${index}", {
  description: "Tool ${index}",
  parameters: Schema.Struct({ id: Schema.String, count: Schema.Int }),
  success: Schema.Struct({ name: Schema.String, total: Schema.Number }),
  effects: "${index % 3 === 0 ? "write" : "read"}",
  timeout: "5 seconds",
  execute: ({ count, id }): Effect.Effect<{ readonly name: string; readonly total: number }, Down | Gone> =>
    count === 0 ? Effect.fail(new Gone({ id })) : Effect.succeed({ name: id, total: count })
})${pipe}
`

const own = `.pipe(Tool.onError((call) => call.pipe(Recovery.retry({ times: 1 }), Recovery.escalate("InvalidArgs"))))`

const many = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => make(i)).join("")

const names = (count: number): string => Array.from({ length: count }, (_, i) => `tool${i}`).join(", ")

const programs: Readonly<Record<string, string>> = {
  "60 tools": `${many(60, (index) => tool(index))}
export const agent = Agent.make("agent", { tools: [${names(60)}], defaults: { onError: Recovery.standard } })
export const run = agent.run("go")
`,
  "60 tools with recovery": `${many(60, (index) => tool(index, own))}
export const agent = Agent.make("agent", {
  tools: [${names(60)}],
  onToolError: { tool1: (call) => call.pipe(Effect.catchTag("Timeout", () => Effect.fail(new Down()))) },
  defaults: { onError: Recovery.policy({ ExecutionError: { retry: { times: 1 }, otherwise: "escalate" } }) }
})
export const run = agent.run("go")
`
}

const compile = (source: string) =>
  compileIn(folder, source, {
    extends: "../../../tsconfig.base.json",
    compilerOptions: { noEmit: true, noUnusedLocals: false, types: [] }
  })

const empty = compile(imports)
const limits: Record<string, Cost> = JSON.parse(readFileSync(recorded, "utf8"))
const record = process.argv.includes("--record")
let failed = false
for (const [name, source] of Object.entries(programs)) {
  const { instantiations, seconds } = compile(imports + source)
  const cost = instantiations - empty.instantiations
  const known = limits[name] ?? { limit: Infinity, instantiations: cost }
  const most = Math.min(known.limit, Math.ceil(known.instantiations * 1.02))
  const verdict = record ? "recorded" : cost > most ? `more than ${most}` : "ok"
  failed ||= !record && cost > most
  process.stdout.write(`${name}: ${cost} instantiations, ${(seconds - empty.seconds).toFixed(2)} s (${verdict})\n`)
  limits[name] = { limit: known.limit, instantiations: cost }
}
if (record) writeFileSync(recorded, `${JSON.stringify(limits, undefined, 2)}\n`)
if (failed) process.exitCode = 1
