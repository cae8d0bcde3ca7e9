/**
 * Tool search: an agent with more tools than one request may offer. The model is offered some of them and a tool that finds the others.
 *
 * The offered tools are a function of the tools and the conversation. A replayed, resumed or recovered run offers the same ones.
 */
import type * as Prompt from "effect/ai/Prompt"
import type { AgentTool } from "../../tool/agentTool.ts"
import { finderTool } from "../../tool/finderTool.ts"
import { type ToolSet, toolSet } from "./toolSet.ts"

/** The most tools of a request, unless the agent has a limit of its own: common servers take no more. */
export const defaultMaxTools = 128

const wordsOf = (text: string): ReadonlyArray<string> =>
  text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "")

/** Score of a tool for the words of a search. A word of its name counts most. */
const scoreOf = (words: ReadonlyArray<string>, { tool: { description = "", name } }: AgentTool): number => {
  const ownWords = new Set(wordsOf(name.replaceAll(/\p{Ll}(?=\p{Lu})/gu, "$& ")))
  const text = description.toLowerCase()
  const lowerName = name.toLowerCase()
  return words.reduce(
    (score, word) =>
      score + (ownWords.has(word) ? 4 : lowerName.includes(word) ? 2 : 0) + (text.includes(word) ? 1 : 0),
    0
  )
}

/** The names of the tools that a search finds, the best first; of two that fit equally, the one that the agent has first. */
const find = (tools: ReadonlyArray<AgentTool>, query: unknown, max: number): ReadonlyArray<string> => {
  const words = typeof query === "string" ? wordsOf(query) : []
  return tools
    .flatMap((tool) => {
      const score = scoreOf(words, tool)
      return score === 0 ? [] : [{ name: tool.tool.name, score }]
    })
    .toSorted((a, b) => b.score - a.score)
    .slice(0, max)
    .map(({ name }) => name)
}

const searchable = ({ byName }: ToolSet): ReadonlyArray<AgentTool> =>
  [...byName.values()].filter(({ isFinder, statusOf }) => !isFinder && statusOf === undefined)

const freeName = (tools: ReadonlyArray<AgentTool>): string => {
  const names = new Set(tools.map(({ tool }) => tool.name))
  let name = "find_tools"
  for (let n = 2; names.has(name); n++) name = `find_tools_${n}`
  return name
}

/** The most tools that one search finds: as many as the next request has room for, even if it has a tool for the answer. */
const maxFoundOf = (maxTools: number): number => Math.min(10, maxTools - 2)

const finderOf = (tools: ReadonlyArray<AgentTool>, maxTools: number): AgentTool =>
  finderTool(freeName(tools), tools.length, (query) => find(tools, query, maxFoundOf(maxTools)))

/** The tools of a run with the one that finds tools, if they are more than one request may offer. */
export const withFinder = (tools: ToolSet, maxTools: number): ToolSet => {
  if (tools.byName.size <= maxTools) return tools
  const own = [...tools.byName.values()].filter(({ isFinder }) => !isFinder)
  return toolSet([...own, finderOf(own.filter(({ statusOf }) => statusOf === undefined), maxTools)], tools.lists)
}

type Part = Exclude<Prompt.AssistantMessage["content"], string>[number]

const callsIn = (message: Prompt.Message): ReadonlyArray<Prompt.ToolCallPart> =>
  message.role === "assistant" ? message.content.filter((part: Part) => part.type === "tool-call") : []

const queryOf = ({ params }: Prompt.ToolCallPart): unknown => {
  if (typeof params !== "string") return (params as { readonly query?: unknown } | null | undefined)?.query
  try {
    return (JSON.parse(params) as { readonly query?: unknown } | null)?.query
  } catch {
    return undefined
  }
}

/** The names of tools that the conversation has called or found, the last ones first. */
const usedIn = (
  messages: ReadonlyArray<Prompt.Message>,
  finder: AgentTool,
  tools: ReadonlyArray<AgentTool>,
  maxTools: number
): ReadonlyArray<string> =>
  messages.flatMap(callsIn).toReversed().flatMap((call) =>
    call.name === finder.tool.name ? find(tools, queryOf(call), maxFoundOf(maxTools)) : [call.name]
  )

/**
 * The tools that a request of an agent with a search tool offers: up to the limit without `reserved` others. These are the search tool, status
 * tools of pending tasks, those that the conversation has found or called, and the first ones of the agent. They keep
 * the order of the agent.
 */
export const withinLimit = (
  offered: ToolSet,
  finder: AgentTool,
  maxTools: number,
  reserved: number,
  messages: () => ReadonlyArray<Prompt.Message>
): ToolSet => {
  const others = [...offered.byName.values()].filter((tool) => tool !== finder)
  if (others.length + reserved <= maxTools) return toolSet(others)
  const tools = searchable(offered)
  const byName = new Map(tools.map((tool) => [tool.tool.name, tool]))
  const used = usedIn(messages(), finder, tools, maxTools).flatMap((name) => byName.get(name) ?? [])
  const states = others.filter(({ statusOf }) => statusOf !== undefined)
  const taken = new Set([...new Set([...states, ...used, ...tools])].slice(0, maxTools - 1 - reserved))
  return toolSet([...others.filter((tool) => taken.has(tool)), finder])
}
