/** Contents of a new project: the choices of its maker. */

/**
 * Models that a project can start with. `script` needs neither a key nor a network.
 *
 * @category constants
 * @since 0.2.0
 */
export const models = ["script", "ollama", "openai"] as const

/**
 * A model that a project can start with.
 *
 * @category models
 * @since 0.2.0
 */
export type Model = (typeof models)[number]

/**
 * Contents of a project.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** Name of the package. */
  readonly name: string
  /** True if the project has a server with durable runs in SQLite. */
  readonly server: boolean
  /** Its model. */
  readonly model: Model
}
