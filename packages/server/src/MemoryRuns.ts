/** Runs in the memory of this process: `Runs` without a database. They end with the process; a run that waits does, too. */
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "@recourse/core/Agent"
import * as OptionCheck from "@recourse/core/OptionCheck"
import * as Predicate from "effect/Predicate"
import { Runs } from "@recourse/core/Runs"
import { MemoryRuns } from "./internal/runs/memoryRuns.ts"
import { type Servable, servedAgents } from "./internal/runs/served.ts"
export type { Servable } from "./internal/runs/served.ts"

/**
 * Storage of runs.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options<Agents extends ReadonlyArray<Servable>> {
  /** The agents that can be run, by their names. */
  readonly agents: Agents
  /** Number of stored runs: above it, those that ended first are deleted. Default: 1,000. */
  readonly capacity?: number | undefined
  /** Time in which runs may end when the layer's scope is closed, before they are interrupted. Default: 10 seconds. */
  readonly gracePeriod?: Duration.Input | undefined
}

const someAgents = OptionCheck.listOf({
  is: (value) => Predicate.hasProperty(value, Agent.TypeId),
  called: "agents, each made by Agent.make"
})

const kinds: Readonly<Record<keyof Options<[]>, OptionCheck.Kind>> = {
  agents: someAgents,
  capacity: OptionCheck.aLimit,
  gracePeriod: OptionCheck.aDuration
}

/**
 * Runs agents in this process and keeps their events in memory. A run ends by itself, by `cancel`, or with the layer's
 * scope: then it may continue for the grace period, and is interrupted lawfully.
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = <const Agents extends ReadonlyArray<Servable>>(
  options: Options<Agents>
): Layer.Layer<Runs, never, Agent.Services<Agents[number]>> =>
  Layer.effect(
    Runs,
    Effect.gen(function*() {
      OptionCheck.checkOptions("MemoryRuns", options, { kinds, otherNames: { maxRuns: "capacity" } })
      OptionCheck.checkArgument("MemoryRuns", "agents", options.agents, someAgents)
      const context = yield* Effect.context<Agent.Services<Agents[number]>>()
      const agents = servedAgents(options.agents, context as Context.Context<never>)
      const runs = new MemoryRuns(agents, options.capacity ?? 1000, yield* Effect.scope)
      yield* Effect.addFinalizer(() => runs.drain(Duration.fromInputUnsafe(options.gracePeriod ?? "10 seconds")))
      return runs
    })
  ) as Layer.Layer<Runs, never, Agent.Services<Agents[number]>>
