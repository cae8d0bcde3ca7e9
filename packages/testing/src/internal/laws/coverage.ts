/** Coverage of injected faults, for reports. */
import * as FaultPlan from "../../FaultPlan.ts"
import type { Subject } from "../../Subject.ts"
import type * as Simulation from "../simulation/simulation.ts"

/** A fault that no plan has injected, and why: of a tool, of a person who is asked about its calls, or of the model. */
export interface Missed {
  readonly tool: string
  readonly fault: string
  /** `not_called`: no scenario calls the tool. `does_not_fit`: there was nothing in its answers to spoil. */
  readonly because: "not_called" | "does_not_fit" | "not_drawn"
}

/** How often which fault was injected: by tool, and `"model"`. */
export interface Coverage {
  readonly add: (run: Simulation.Observation) => void
  readonly met: () => Readonly<Record<string, Readonly<Record<string, number>>>>
  /** `asks` are the tools about whose calls a person may be asked. */
  readonly missed: (asks: ReadonlySet<string>) => ReadonlyArray<Missed>
}

/** Counts faults. */
export const coverage = <In, Out, E>(subject: Subject<In, Out, E>): Coverage => {
  const met = new Map<string, Map<string, number>>()
  const called = new Set<string>()
  const unfit = new Set<string>()
  return {
    add: (run) => {
      for (const event of run.events) if ("tool" in event) called.add(event.tool)
      for (const { applied, tool = "model", type } of run.injected) {
        if (!applied) {
          unfit.add(`${tool} ${type}`)
          continue
        }
        const counts = met.get(tool) ?? new Map<string, number>()
        met.set(tool, counts.set(type, (counts.get(type) ?? 0) + 1))
      }
    },
    met: () => Object.fromEntries([...met].map(([tool, counts]) => [tool, Object.fromEntries(counts)])),
    missed: (asks) =>
      [...subject.tools.map(({ name }) => name), "model"].flatMap((tool) =>
        [
          ...(tool === "model" ? FaultPlan.modelFaults : FaultPlan.toolFaults),
          ...(asks.has(tool) ? FaultPlan.approvalFaults : [])
        ].flatMap((fault): ReadonlyArray<Missed> =>
          met.get(tool)?.has(fault) === true ? [] : [{
            tool,
            fault,
            because: tool !== "model" && !called.has(tool)
              ? "not_called"
              : unfit.has(`${tool} ${fault}`)
              ? "does_not_fit"
              : "not_drawn"
          }]
        )
      )
  }
}
