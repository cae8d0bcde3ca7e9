/** Tool set: the tools of a run, and those that the model is offered. */
import type * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import type { AgentTool, ToolList } from "../../tool/agentTool.ts"
import type { Run } from "../../run/run.ts"
import type { Transcript } from "../../run/transcript.ts"

/** A list of tools that can change, in use by a run. */
export interface ListInUse {
  readonly list: ToolList
  readonly version: number
  /** True if the agent has all tools of the list. */
  readonly isWhole: boolean
}

/** The tools of a run, by name and as the toolkit that the model is offered. */
export interface ToolSet {
  readonly byName: ReadonlyMap<string, AgentTool>
  readonly names: ReadonlyArray<string>
  /** True if some are offered only once a task is pending. */
  readonly hasStatusTools: boolean
  /** Finds the others, if they are more than one request may offer. */
  readonly finder: AgentTool | undefined
  /** Untrusted tools whose descriptions are from outside: a model that is offered them has read outside text. */
  readonly foreign: ReadonlyArray<string>
  readonly toolkit: Toolkit.Toolkit<Record<string, AiTool.Any>>
  /** The lists that some of them are from, and that can change. */
  readonly lists: ReadonlyArray<ListInUse>
}

const listsOf = (tools: ReadonlyArray<AgentTool>): ReadonlyArray<ListInUse> => {
  const lists = new Map<ToolList, ListInUse>()
  const names = new Set(tools.map(({ tool }) => tool.name))
  for (const { tool: { info: { listed } } } of tools) {
    if (listed === undefined || lists.has(listed.list)) continue
    const { list, version } = listed
    lists.set(list, { list, version, isWhole: listed.names.every((name) => names.has(name)) })
  }
  return [...lists.values()]
}

/** Makes the tools of a run. */
export const toolSet = (tools: ReadonlyArray<AgentTool>, lists = listsOf(tools)): ToolSet => ({
  lists,
  byName: new Map(tools.map((tool) => [tool.tool.name, tool])),
  names: tools.map(({ tool }) => tool.name),
  hasStatusTools: tools.some(({ statusOf }) => statusOf !== undefined),
  finder: tools.find(({ isFinder }) => isFinder),
  foreign: tools.flatMap(({ tool }) => tool.info.description.isForeign ? [tool.name] : []),
  toolkit: Toolkit.make(...tools.map(({ tool }) => tool.definition))
})

/** Returns the presently offered tools: without hidden ones, and status tools only if tasks are pending. */
export const offer = (tools: ToolSet, run: Run, transcript: Transcript): Effect.Effect<ToolSet> =>
  Effect.clockWith((clock) => {
    const now = clock.currentTimeMillisUnsafe()
    const all = [...tools.byName.values()]
    const offered = all.filter(({ statusOf, tool }) =>
      (run.reading.hidden.get(tool.name) ?? 0) <= now && (statusOf === undefined || transcript.hasPending(statusOf))
    )
    return Effect.succeed(offered.length === all.length ? tools : toolSet(offered))
  })
