/** Versions of agents that this process has, and their treatment of other versions' runs. */
import type * as Context from "effect/Context"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import type { Definition, Registered } from "./definition.ts"
import type { Claimable, StoredRun } from "../store/store.ts"

/** Treatment of a run: its own version continues it, a later one does, or it is stopped. */
export type Taken = { readonly registered: Registered; readonly how: "own" | "continue" | "stop" }

/** The agents of a process, each in one version or in several. */
export class Versions {
  private readonly current = new Map<string, Registered>()
  private readonly byVersion = new Map<string, Taken>()
  /** The runs that this process takes. */
  readonly claimable: ReadonlyArray<Claimable>
  /** The runs whose people this process asks. */
  readonly asking: ReadonlyArray<Claimable>

  constructor(definitions: ReadonlyArray<Definition>, context: Context.Context<never>) {
    const claimable = new Map<string, Array<string>>()
    const add = (agent: string, version: string, taken: Taken): void => {
      this.byVersion.set(JSON.stringify([agent, version]), taken)
      claimable.set(agent, [...claimable.get(agent) ?? [], version])
    }
    for (const definition of definitions) {
      const { name, version } = definition
      if (this.own(name, version) !== undefined) {
        throw new ConfigurationError({
          subject: `Durable agent "${name}"`,
          problem: `version "${version}" is registered twice`
        })
      }
      const registered = { definition, context }
      if (!this.current.has(name)) this.current.set(name, registered)
      add(name, version, { registered, how: "own" })
    }
    for (const definition of definitions) {
      for (const [version, how] of Object.entries(definition.previousVersions)) {
        if (this.own(definition.name, version) !== undefined) continue
        add(definition.name, version, { registered: { definition, context }, how })
      }
    }
    this.claimable = [...claimable].map(([agent, versions]) => ({
      agent,
      versions,
      adopted: Object.fromEntries(versions.flatMap((version) => {
        const taken = this.own(agent, version)
        return taken?.how === "continue" ? [[version, taken.registered.definition.version]] : []
      })),
      queue: this.current.get(agent)?.definition.queue
    }))
    this.asking = this.claimable.flatMap(({ agent, versions }) => {
      const own = versions.filter((version) => this.own(agent, version)?.registered.definition.asking !== undefined)
      return own.length === 0 ? [] : [{ agent, versions: own }]
    })
  }

  private own(agent: string, version: string): Taken | undefined {
    return this.byVersion.get(JSON.stringify([agent, version]))
  }

  get names(): ReadonlyArray<string> {
    return [...this.current.keys()]
  }

  /** The version that new runs begin with: the first one. */
  starts(agent: string): Registered | undefined {
    return this.current.get(agent)
  }

  /** Returns the agent that continues a run here, if there is one. */
  takes({ agent, version }: StoredRun): Taken | undefined {
    return this.own(agent, version)
  }
}
