/** `Agent.compensated`: agents of any kind that compensate their writes when they fail. */
import type { ToolCall } from "../../call/call.ts"
import { type Agent, ownToolsOf } from "../agent.ts"
import { compensatesOf, type CompensationOptions } from "./compensationOptions.ts"
import { compose, type Composed, type StartErrorOf } from "../compose/composedAgent.ts"
import { formsOf } from "../resume/storedValue.ts"

/**
 * Compensates the writes of an agent that fails, as the option `compensation` of `Agent.make` does. For agents made of
 * agents, such as those of `Agent.andThen`, in which a later step fails behind a booking; and for functions that run
 * agents. Each write is compensated once, also if an inner agent has compensated it itself.
 *
 * **Example** (The second step fails)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const log: Array<string> = []
 * const Book = Tool.make("book", {
 *   effects: "write",
 *   execute: () => Effect.sync(() => void log.push("booked")),
 *   compensate: () => Effect.sync(() => void log.push("cancelled"))
 * })
 * const booker = Agent.make("booker", { tools: [Book] })
 * const payer = Agent.fromFunction("payer", (_: string) => Effect.fail("declined" as const))
 *
 * const trip = booker.pipe(Agent.andThen(payer), Agent.compensated({}))
 *
 * await Effect.runPromise(
 *   Effect.exit(trip.run("Rome")).pipe(
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.call("book", {}), ScriptedModel.text("Booked.")]))
 *   )
 * )
 * log // => ["booked", "cancelled"]
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const compensated = <UR = never, VR = never>(options: CompensationOptions<UR, VR>) =>
<In, Out, E, R, Start>(
  self: Agent<In, Out, E, R> & { readonly start?: Start }
): Composed<In, Out, E, R | UR | Exclude<VR, ToolCall>, StartErrorOf<E, Start>> => {
  const agent: Agent<In, Out, E, R> = self
  const name = `${agent.name} compensated`
  return compose(
    name,
    [agent],
    formsOf(agent),
    (steps, input) => steps.agent(agent, input as In),
    compensatesOf(name, options as CompensationOptions<unknown>, ownToolsOf(agent))
  ) as never
}
