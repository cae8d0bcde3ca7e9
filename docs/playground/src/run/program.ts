/** Runs the text of a program: its files are transpiled, and their imports are modules that are loaded already. */
import { Effect } from "effect"
import { type FaultPlan, type ScriptedModel, Simulation, Subject } from "@recourse/testing"
import { transform } from "sucrase"
import { type Modules, modules } from "./modules.ts"
import { type Report, reportOf } from "./report.ts"

/** The text of a program, by the names of its files. */
export interface Program {
  readonly agent: string
  readonly world: string
  readonly isStreaming: boolean
  /** True if a visitor has edited the text: it may import more than the generated programs. */
  readonly isEdited: boolean
}

/** A program that cannot run: its text is no TypeScript, or it threw before its run. */
export interface Broken {
  readonly problem: string
}

type Exports = Readonly<Record<string, unknown>>

/** Evaluates the text of a module. */
const evaluate = (code: string, file: string, required: (name: string) => unknown): Exports => {
  const { code: script } = transform(code, { transforms: ["typescript", "imports"], filePath: file, production: true })
  const exports: Record<string, unknown> = {}
  // oxlint-disable-next-line no-new-func -- the page runs the visitor's own text
  new Function("require", "exports", `${script}\n//# sourceURL=${file}`)(required, exports)
  return exports
}

const requireFrom = (loaded: Modules) => (name: string): unknown => {
  if (Object.hasOwn(loaded, name)) return loaded[name]
  throw new Error(`There is no module "${name}" on this page. It has: ${Object.keys(loaded).join(", ")}`)
}

const subjectOf = ({ agent, world }: Program, loaded: Modules) => {
  const worldExports = evaluate(world, "world.ts", requireFrom(loaded))
  const agentExports = evaluate(agent, "agent.ts", requireFrom({ ...loaded, "./world.ts": worldExports }))
  const made = agentExports["agent"] as Parameters<typeof Subject.make>[0]["agent"] | undefined
  if (made === undefined) throw new Error("agent.ts does not export `agent`")
  return {
    subject: Subject.make({
      agent: made,
      scenarios: { default: { input: worldExports["input"], model: worldExports["model"] as ScriptedModel.Behaviour } }
    }),
    plan: worldExports["faults"] as FaultPlan.FaultPlan
  }
}

/** Runs a program in virtual time. Never rejects. */
export const runProgram = async (program: Program): Promise<Broken | Report> => {
  try {
    const loaded = program.isEdited ? (await import("./allModules.ts")).allModules : modules
    const { plan, subject } = subjectOf(program, loaded)
    const options = { plan, streaming: program.isStreaming }
    return reportOf(await Effect.runPromise(Simulation.run(subject, subject.scenarios["default"]!, options)))
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}
