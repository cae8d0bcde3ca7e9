/** Loads a project from a module: its default export, or all agents that it exports. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Agent from "@recourse/core/Agent"
import type { Servable } from "@recourse/server/MemoryRuns"
import { isProject, make, type Project } from "../../Project.ts"
import { CannotServe } from "./cannotServe.ts"

const isAgent = (value: unknown): value is Servable =>
  typeof value === "object" && value !== null && Agent.TypeId in value

const agentsIn = (value: unknown): ReadonlyArray<Servable> =>
  isAgent(value) ? [value] : Array.isArray(value) ? value.filter(isAgent) : []

const hint = "export agents of Agent.make, or a Project.make of @recourse/studio in default"

/** The project of a module. */
export const load = (file: string): Effect.Effect<Project, CannotServe, Path.Path> =>
  Effect.gen(function*() {
    const path = yield* Path.Path
    const url = yield* path.toFileUrl(path.resolve(file)).pipe(
      Effect.mapError(() => new CannotServe({ problem: `${file} is not a path` }))
    )
    const module = yield* Effect.tryPromise({
      try: () => import(url.href) as Promise<Readonly<Record<string, unknown>>>,
      catch: (cause) => new CannotServe({ problem: `${file} cannot be loaded: ${String(cause)}` })
    })
    const project = Object.values(module).find(isProject)
    if (project !== undefined) return project
    // The same agent may be exported by name and as default.
    const agents = [...new Set(Object.values(module).flatMap(agentsIn))]
    if (agents.length === 0) return yield* new CannotServe({ problem: `${file} exports no agents: ${hint}` })
    // Their services are unknown here: the run that lacks one reports it.
    return make({ agents: agents as unknown as ReadonlyArray<Agent.Agent<string, unknown>> })
  })
