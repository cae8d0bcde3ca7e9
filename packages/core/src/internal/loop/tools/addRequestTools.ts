/** Adds the tools of a page to the user's message, in its options, and lets runs offer them. */
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { type RequestTool, requestTool } from "../../tool/clientTool.ts"
import { withMark } from "../requestContext.ts"
import { RequestToolMaker, requestToolsKey } from "./requestTools.ts"

/**
 * A message of the user with the tools that its page executes. Throws `ConfigurationError` for a tool that cannot be offered, and for
 * two of one name.
 *
 * @category constructors
 * @since 0.2.0
 */
export const addRequestTools = (
  message: Prompt.UserMessage,
  tools: ReadonlyArray<RequestTool>
): Prompt.UserMessage => {
  if (tools.length === 0) return message
  const names = new Set<string>()
  for (const tool of tools) {
    requestTool(tool, names)
    if (names.has(tool.name)) {
      throw new ConfigurationError({ subject: "Request", problem: `there are two tools named "${tool.name}"` })
    }
    names.add(tool.name)
  }
  return Prompt.makeMessage("user", {
    content: message.content,
    options: withMark(message.options, requestToolsKey, tools) as never
  })
}

/**
 * Lets the runs inside an effect offer the tools that `addTools` adds to their requests. Wrap each start, resumption and explanation of
 * a run. A run with such tools dies with a `ConfigurationError` outside of it. The server and the durable engine do it for you.
 *
 * **Example** (A run with a tool of the page)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Prompt } from "effect/ai"
 * import { Agent, RequestInput } from "@recourse/core"
 *
 * const assistant = Agent.make("assistant", { input: Prompt.Prompt, prompt: (conversation) => conversation })
 *
 * const message = RequestInput.addTools(
 *   Prompt.makeMessage("user", { content: [Prompt.makePart("text", { text: "Show the map." })] }),
 *   [{ name: "show_map" }]
 * )
 *
 * export const answer = RequestInput.withTools(assistant.run(Prompt.fromMessages([message])))
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const withTools = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, RequestToolMaker, requestTool)
