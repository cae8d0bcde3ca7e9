/** Loads the agents of a module and serves them: the part of the command that needs the library. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { load } from "./load.ts"
import { choose } from "./model.ts"
import { type Options, serve } from "./serve.ts"

/** Options of the command. */
export interface Given extends Omit<Options, "project" | "model"> {
  /** The module that exports the agents. */
  readonly agents: string
  readonly preset: Option.Option<string>
  readonly model: Option.Option<string>
}

/** Serves the agents of a module until it is interrupted. */
export const serveAgents = (given: Given) =>
  Effect.gen(function*() {
    const project = yield* load(given.agents)
    const model = choose(
      { preset: Option.getOrUndefined(given.preset), model: Option.getOrUndefined(given.model) },
      project.script,
      process.env
    )
    const printAddresses = (url: string) =>
      Console.log([
        `Chat    ${url}/chat`,
        `Studio  ${url}/studio`,
        `Agents  ${project.agents.map(({ name }) => name).join(", ")}`,
        `Model   ${model.name}`,
        ...(given.durable ? [`Runs    ${given.data}/runs.db`] : [])
      ].join("\n"))
    return yield* Layer.launch(serve({ ...given, project, model }, printAddresses))
  })
