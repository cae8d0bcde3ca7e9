/**
 * Paths: the addresses of agents and calls within a run, the same in each execution of the run. This file makes them and reads them; no other one does.
 *
 * | of | path |
 * | --- | --- |
 * | a run | its id |
 * | a call that a model, a program or a toolkit makes | `run/4:tool/id` |
 * | a call that a tool makes | `run/4:tool/outer/4:toolARGUMENTS#nth` |
 * | an agent in a call | `run/2:id/5:agent#nth` |
 * | an agent that a program runs by hand | `run/2:id/5:agent(INPUT)#nth` |
 * | a step of a composed agent | `run/0:/5:agent@position` |
 *
 * A name has its length before it, so that no two paths have the same text. `nth` counts equals only, so the order in which fibers start does not matter.
 */

const named = (name: string): string => `${name.length}:${name}`

/** The end of the path of a nested agent. */
const agentPath = /\/\d+:.*\/\d+:.*[#@]\d+$/s

/** Returns the path of a run that no run is around: its id, marked if it reads like the path of a nested agent, which would share its keys. */
export const ofRun = (id: string): string => agentPath.test(id) ? `run:${id}` : id

/** Returns the path that all runs of an agent within a call have in common. The call is empty outside of calls. */
export const ofAgent = (run: string, call: string, agent: string): string => `${run}/${named(call)}/${named(agent)}`

/** Returns the path of a step, of a path of {@link ofAgent}. */
export const ofStep = (agent: string, position: number): string => `${agent}@${position}`

/** Returns the path of one of equal agents or calls. */
export const ofEqual = (path: string, nth: number): string => `${path}#${nth}`

/** Returns the path of which the end of a path numbers the equals: its reverse is {@link ofEqual}. */
export const withoutNumber = (path: string): string => path.slice(0, path.lastIndexOf("#"))

/** Returns the paths of the numbered agents in a path: its text before each number. */
export const agentsOf = (path: string): ReadonlyArray<string> => {
  const agents: Array<string> = []
  for (let at = path.indexOf("#"); at >= 0; at = path.indexOf("#", at + 1)) agents.push(path.slice(0, at))
  return agents
}

/** Returns the path of a call of a run. `call` is its id, or its identity if a tool makes it. */
export const ofCall = (run: string, tool: string, call: string): string => `${run}/${named(tool)}/${call}`

/** Returns the id of a write. Parallel attempts without a key are separated by the ids of their calls. */
export const ofWrite = (call: string, callId: string | undefined): string =>
  callId === undefined ? call : `${call}@${callId}`

/** Returns the common part of equal calls of a tool within a call. `args` is a text that equal arguments share. */
export const sibling = (tool: string, args: string): string => `${named(tool)}${args}`

/** Returns the identity of a call made by a tool: it is unique in its run. */
export const identityWithin = (outer: string, sibling: string, nth: number): string =>
  `${outer}/${ofEqual(sibling, nth)}`

/** True if a path is below another one. */
export const isBelow = (path: string, outer: string): boolean => path.startsWith(`${outer}/`)

/**
 * Returns the text at the beginning of a path, which follows its length, and the rest: of `3:pay/c1`, `pay` and `/c1`.
 */
const headOf = (path: string): readonly [head: string, rest: string] => {
  const colon = path.indexOf(":")
  const end = colon + 1 + Number(path.slice(0, colon))
  return [path.slice(colon + 1, end), path.slice(end)]
}

/**
 * True if a path is of an inner call of a call of a run: made by its tool, as `run/3:pay/c1/…`, or by an agent within
 * it, or within a call of its tool, as `run/2:c1/5:clerk#1/…`.
 */
export const isWithinCall = (path: string, run: string, callId: string): boolean => {
  if (!isBelow(path, run)) return false
  const [head, rest] = headOf(path.slice(run.length + 1))
  return rest.startsWith(`/${callId}/`) || (`${head}/`.startsWith(`${callId}/`) && /^\/\d+:/.test(rest))
}

/** True if a path is of a call of a run, for any tool. */
export const isOfCall = (path: string, run: string, callId: string): boolean =>
  isBelow(path, run) && headOf(path.slice(run.length + 1))[1] === `/${callId}`
