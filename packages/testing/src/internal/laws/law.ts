/** Laws: the interface, and the parts that laws are made of. */
import type * as Simulation from "../simulation/simulation.ts"
import type { Tool } from "@recourse/core"
import type { Subject } from "../../Subject.ts"

/**
 * The runs of one plan.
 *
 * @category models
 * @since 0.2.0
 */
export interface Trial {
  readonly subject: Pick<Subject<unknown, unknown, unknown>, "tools" | "budget" | "outsiders">
  /** The text in every injected error. */
  readonly secret: string
  /** The same scenario without faults. */
  readonly faultless: Simulation.Observation
  readonly plain: Simulation.Observation
  readonly again: Simulation.Observation
  readonly streamed: Simulation.Observation
  readonly interrupted: Simulation.Observation
  /** Simultaneously ready fibers run in a random order of the plan's seed. */
  readonly reordered: Simulation.Observation
}

/**
 * A law: the ways in which a trial breaks it, and the run in which it does.
 *
 * @category models
 * @since 0.2.0
 */
export type Law = (trial: Trial) => ReadonlyArray<Violation>

/**
 * A way in which a law is broken.
 *
 * @category models
 * @since 0.2.0
 */
export interface Violation {
  readonly run: "plain" | "again" | "streamed" | "interrupted" | "reordered"
  readonly problem: string
}

const runs = ["plain", "streamed", "interrupted", "reordered"] as const

/** A law about each run. It judges an observation once, if several runs of a trial share it. */
export const ofEachRun = (law: (run: Simulation.Observation, trial: Trial) => ReadonlyArray<string>): Law => (trial) =>
  runs
    .filter((run) => runs.find((other) => trial[other] === trial[run]) === run)
    .flatMap((run) => law(trial[run], trial).map((problem) => ({ run, problem })))

/** The parts of a run that paused: one, if it did not. */
export const partsOf = (events: Simulation.Observation["events"]): ReadonlyArray<Simulation.Observation["events"]> => {
  const starts = events.flatMap(({ _tag }, index) => _tag === "RunStarted" ? [index] : [])
  return starts.map((start, index) => events.slice(start, starts[index + 1]))
}

/** The names of the tools that a law is about: agents of one subject may each have a tool of the same name. */
export const namesOf = (
  tools: Trial["subject"]["tools"],
  isMeant: (tool: Tool.Any) => boolean
): ReadonlyArray<string> =>
  [...Map.groupBy(tools, ({ name }) => name)].flatMap(([name, all]) => all.every(isMeant) ? [name] : [])

export const count = <A>(items: Iterable<A>): ReadonlyMap<A, number> => {
  const counts = new Map<A, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}

export const moreThan = <A>(items: Iterable<A>, most: number): ReadonlyArray<readonly [A, number]> =>
  [...count(items)].filter(([, times]) => times > most)
