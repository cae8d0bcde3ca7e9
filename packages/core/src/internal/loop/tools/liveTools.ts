/** Live tools: the tools of a run whose lists have changed, such as that of an MCP server. They are exchanged between turns. */
import * as Effect from "effect/Effect"
import type { AgentTool } from "../../tool/agentTool.ts"
import type * as Tool from "../../tool/tool.ts"
import { type ListInUse, type ToolSet, toolSet } from "./toolSet.ts"

/** Makes a tool one of an agent. */
export type Compile = (tool: Tool.Any) => ReadonlyArray<AgentTool>

const isOf = ({ list }: ListInUse) => ({ tool }: AgentTool): boolean => tool.info.listed?.list === list

/** The tools with those of a list that has changed. An agent that took only some of the list is given no new ones. */
const exchanged = (
  tools: ToolSet,
  used: ListInUse,
  changed: { readonly version: number; readonly tools: ReadonlyArray<Tool.Any> },
  compile: Compile
): ToolSet => {
  const all = [...tools.byName.values()]
  const others = all.filter((tool) => !isOf(used)(tool))
  const taken = new Set(others.map(({ tool }) => tool.name))
  const next = changed.tools.filter(({ name }) => !taken.has(name) && (used.isWhole || tools.byName.has(name)))
  const lists = tools.lists.map((one) => one === used ? { ...one, version: changed.version } : one)
  return toolSet([...others, ...next.flatMap(compile)], lists)
}

/** Returns the tools as they are now: the same set if no list has changed. */
export const currentTools = Effect.fnUntraced(function*(tools: ToolSet, compile: Compile): Effect.fn.Return<ToolSet> {
  let current = tools
  for (const { list } of tools.lists) {
    const used = current.lists.find((one) => one.list === list)!
    const changed = yield* list.changedSince(used.version)
    if (changed !== undefined) current = exchanged(current, used, changed, compile)
  }
  return current
})
