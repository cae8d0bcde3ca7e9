/** Finds the tool of a write that is only in a log: tools of several agents may have one name. */
import type { ToolInfo } from "../../call/tool/toolInfo.ts"
import { separator } from "../../path/idsWithin.ts"
import type { CompensableWrite } from "../../run/writes/completedWrites.ts"
import type * as Tool from "../../tool/tool.ts"

/** The tools of agents, those of their agents that are tools included. */
const all = (tools: ReadonlyArray<Tool.Own>): ReadonlyArray<Tool.Own> =>
  tools.flatMap((own) => [own, ...all(own.tool.ownTools?.() ?? [])])

/**
 * Returns the tool that compensates a write. A call of an agent's model is one of a tool of that agent, or of its
 * chosen skill. Any other call is one of a tool of the agent, or of a listed one; else of a tool of another agent.
 * `undefined` if several are possible: the compensation of another tool would compensate something else.
 */
export const toolOf = (
  tools: ReadonlyArray<Tool.Own>,
  { identity, path, skill: chosen, tool: name }: CompensableWrite
): ToolInfo | undefined => {
  const known = all(tools)
  const caller = path.at(-1)
  const named = known.filter(({ tool }) => tool.name === name && tool.info.compensation !== undefined)
  const own = named.filter(({ agent, skill }) =>
    agent === caller && (skill === undefined || chosen === undefined || skill === chosen)
  )
  const near = named.filter(({ agent }) => agent === caller || agent === undefined)
  const isOfModel = !identity.includes(separator) && known.some(({ agent }) => agent === caller)
  const meant = isOfModel ? own : near.length > 0 ? near : named
  const infos = new Set(meant.map(({ tool }) => tool.info))
  return infos.size === 1 ? [...infos][0] : undefined
}
