/**
 * Project: served by the command `recourse-studio`. A module exports it in `default`; one that exports agents with only
 * a model as a service is a project itself.
 *
 * **Example** (A module for `npx @recourse/studio --agents ./agents.ts`)
 *
 * ```ts
 * import { Context, Effect, Layer, Schema } from "effect"
 * import { Prompt } from "effect/ai"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { Project } from "@recourse/studio"
 *
 * class Orders extends Context.Service<Orders, { readonly find: (id: string) => Effect.Effect<string> }>()("Orders") {}
 *
 * const FindOrder = Tool.make("find_order", {
 *   parameters: Schema.Struct({ id: Schema.String }),
 *   success: Schema.String,
 *   effects: "read",
 *   execute: ({ id }) => Effect.flatMap(Orders, (orders) => orders.find(id))
 * })
 *
 * const support = Agent.make("support", {
 *   input: Prompt.Prompt,
 *   prompt: (conversation) => conversation,
 *   tools: [FindOrder],
 *   defaults: { onError: Recovery.standard }
 * })
 *
 * export const project = Project.make({
 *   agents: [support],
 *   cards: { support: { title: "Support", suggestions: ["Where is order 7?"] } },
 *   services: Layer.succeed(Orders, { find: (id) => Effect.succeed(`Order ${id} is on its way.`) })
 * })
 *
 * Project.isProject(project) // => true
 * ```
 */
import type * as Layer from "effect/Layer"
import type { LanguageModel } from "effect/ai/LanguageModel"
import type * as Agent from "@recourse/core/Agent"
import type { SnapshotKey } from "@recourse/core/Approval"
import type { Servable } from "@recourse/server/MemoryRuns"
import type { AgentCard } from "@recourse/server/Server"
import type { Behaviour } from "@recourse/testing/ScriptedModel"
export { repeating } from "./internal/dev/repeating.ts"

/**
 * The brand of projects.
 *
 * @category type IDs
 * @since 0.2.0
 */
export const TypeId = "~@recourse/studio/Project" as const

/**
 * Agents, with their services.
 *
 * @category models
 * @since 0.2.0
 */
export interface Project {
  readonly [TypeId]: typeof TypeId
  readonly agents: ReadonlyArray<Servable>
  readonly cards: Readonly<Record<string, Partial<AgentCard>>>
  readonly services: Layer.Layer<never, unknown> | undefined
  readonly script: Behaviour | undefined
}

/**
 * Services of agents besides a model and the key of snapshots, which the command provides.
 *
 * @category models
 * @since 0.2.0
 */
export type Needed<Agents extends ReadonlyArray<Servable>> = Exclude<
  Agent.Services<Agents[number]>,
  LanguageModel | SnapshotKey
>

/**
 * A project. Its type requires `services` if the agents need some.
 *
 * @category options
 * @since 0.2.0
 */
export type Options<Agents extends ReadonlyArray<Servable>, E> =
  & {
    readonly agents: Agents
    /** Public descriptions of the agents, by name. Default: their names, and those of their tools. */
    readonly cards?: Readonly<Record<string, Partial<Omit<AgentCard, "name">>>> | undefined
    /** The model's answers if no model is named. Default: it repeats the user's message, and calls tools on command. */
    readonly script?: Behaviour | undefined
  }
  & ([Needed<Agents>] extends [never] ? { readonly services?: Layer.Layer<never, E> | undefined }
    : { readonly services: Layer.Layer<Needed<Agents>, E> })

/**
 * Makes a project.
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = <const Agents extends ReadonlyArray<Servable>, E = never>(
  options: Options<Agents, E>
): Project => ({
  [TypeId]: TypeId,
  agents: options.agents,
  cards: options.cards ?? {},
  services: options.services,
  script: options.script
})

/**
 * True if a value is a project.
 *
 * @category guards
 * @since 0.2.0
 */
export const isProject = (value: unknown): value is Project =>
  typeof value === "object" && value !== null && TypeId in value
