/** Finder tool: the tool by which a model finds the tools that a request does not offer. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { keepGoing } from "../recovery/presets.ts"
import { type AgentTool, agentTool } from "./agentTool.ts"
import { make } from "./makeTool.ts"
import { onError } from "./onToolError.ts"

/** Makes the tool. `count` is how many tools there are, `find` returns the names of those that fit a query. */
export const finderTool = (
  name: string,
  count: number,
  find: (query: string) => ReadonlyArray<string>
): AgentTool => {
  const tool = make(name, {
    description:
      `You have ${count} tools, and not all of them are listed here. Finds tools by words of their names and ` +
      "descriptions. The tools that it finds are listed from your next message on.",
    parameters: Schema.Struct({ query: Schema.String }),
    success: Schema.Struct({ found: Schema.Array(Schema.String) }),
    effects: "read",
    execute: ({ query }) => Effect.succeed({ found: find(query) })
  })
  return { ...agentTool(onError(tool, keepGoing), undefined, undefined), isFinder: true }
}
