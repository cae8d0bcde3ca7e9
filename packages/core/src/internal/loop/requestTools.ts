/** Request tools: client tools that only the request of a run declares. They stand in the options of the user's last message. */
import type * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { agentTool } from "../tool/agentTool.ts"
import { type RequestTool, requestTool } from "../tool/client.ts"
import { markIn, requestContextSource, withMark } from "./requestContext.ts"
import { type ToolSet, toolSet } from "./toolSet.ts"

const key = "requestTools"

/**
 * A message of the user with the tools that its page executes. Throws `ConfigurationError` for a tool that cannot be offered, and for
 * two of one name.
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
    options: withMark(message.options, key, tools) as never
  })
}

/** The tools that the user's last message has. Those of earlier messages are over. */
export const requestToolsIn = ({ content }: Prompt.Prompt): Schema.Json | undefined => {
  const last = content.findLast(({ role }) => role === "user")
  return last === undefined ? undefined : markIn(last, key) as Schema.Json | undefined
}

/** Tools of an agent with those of a request. Of two with one name the agent's own is offered. */
export const withRequestTools = (tools: ToolSet, requested: Schema.Json | undefined): ToolSet => {
  if (requested === undefined) return tools
  const more = (requested as unknown as ReadonlyArray<RequestTool>).filter(({ name }) => !tools.byName.has(name))
  const page = new Set([requestContextSource, ...more.map(({ name }) => name)])
  return more.length === 0
    ? tools
    : toolSet([
      ...tools.byName.values(),
      ...more.map((tool) => agentTool(requestTool(tool, page), undefined, undefined))
    ])
}
