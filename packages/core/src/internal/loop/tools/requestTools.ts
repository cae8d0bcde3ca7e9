/**
 * Request tools of a run: client tools that only its request declares. A service makes them, because that takes effect's importer of JSON
 * Schema: programs without request tools do not load it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { agentTool } from "../../tool/agentTool.ts"
import type { RequestTool } from "../../tool/clientTool.ts"
import type { Any } from "../../tool/tool.ts"
import { requestContextSource } from "../requestContext.ts"
import { markIn } from "../../run/transcript.ts"
import { type ToolSet, toolSet } from "./toolSet.ts"

/** Makes a tool of a request. `page`: the sources of content from the same page. Default: none, and a run with such tools dies. */
export const RequestToolMaker = Context.Reference<
  ((tool: RequestTool, page: ReadonlySet<string>) => Any) | undefined
>("@recourse/core/RequestToolMaker", { defaultValue: () => undefined })

/** The field of a message's options that holds its tools. */
export const requestToolsKey = "requestTools"

/**
 * The tools that the user's last message has. Those of earlier messages are over.
 *
 * @category getters
 * @since 0.2.0
 */
export const requestToolsIn = ({ content }: Prompt.Prompt): Schema.Json | undefined => {
  const last = content.findLast(({ role }) => role === "user")
  return last === undefined ? undefined : markIn(last, requestToolsKey) as Schema.Json | undefined
}

/** Returns the tools of an agent with those of a request. Of two with one name the agent's own is offered. */
export const withRequestTools = (tools: ToolSet, requested: Schema.Json | undefined): Effect.Effect<ToolSet> => {
  if (requested === undefined) return Effect.succeed(tools)
  const more = (requested as unknown as ReadonlyArray<RequestTool>).filter(({ name }) => !tools.byName.has(name))
  if (more.length === 0) return Effect.succeed(tools)
  const page = new Set([requestContextSource, ...more.map(({ name }) => name)])
  return Effect.flatMap(RequestToolMaker, (make) =>
    make === undefined
      ? Effect.die(
        new ConfigurationError({
          subject: "Request",
          problem: "it has tools, and the program does not offer them: execute its runs within RequestInput.withTools"
        })
      )
      : Effect.sync(() =>
        toolSet([
          ...tools.byName.values(),
          ...more.map((tool) => agentTool(make(tool, page), undefined, undefined))
        ])
      ))
}
