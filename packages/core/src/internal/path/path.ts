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
 * A name has its length before it, so that no two paths have the same text. `nth` counts equals only, so the order in which fibers start does not matter. Below them are the ids of calls and runs within others, in the form
 * of events and people: `call_1/pay_1`.
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

/** Separates the ids of a call and of an inner one. No id of a model contains it: see {@link withoutUnkept}. */
export const separator = "/"

/** Characters that no id of a call contains: it would be parsed as another one, or a database would not store it. */
const unkept = /[\0/\p{Surrogate}]/gu

/** Printable ASCII without the separator: the ids that most models give. */
const ordinary = /^[ -.0-~]*$/

/** An id of a model, without excluded characters. */
export const withoutUnkept = (id: string): string => ordinary.test(id) ? id : id.replaceAll(unkept, "_")

/** The id of a call within another one, or of an agent's run within another one. */
export const idWithin = (outer: string, id: string): string => `${outer}${separator}${id}`

/** Returns the id that a call has within an outer one; `undefined` if it is not within that. */
export const idBelow = (outer: string, id: string): string | undefined => {
  const prefix = idWithin(outer, "")
  return id.startsWith(prefix) ? id.slice(prefix.length) : undefined
}

/** True if a call is within an outer one. */
export const isIdBelow = (outer: string, id: string): boolean => id.startsWith(idWithin(outer, ""))

/** A name as one part of an id. */
export const idPart = (name: string): string => name.replaceAll(separator, "_")

/** Returns the outer call of a call, named as in events; an empty object for a call of the model. */
export const outerCallsOf = (callId: string): { readonly parentCallId: string } | undefined => {
  const at = callId.lastIndexOf(separator)
  return at < 0 ? undefined : { parentCallId: callId.slice(0, at) }
}

/** True if a step with this id runs an agent with this name: see `StepNumbers`. */
export const isStepOf = (id: string, name: string): boolean => {
  const base = idPart(name)
  return id === base || id.startsWith(`${base}#`)
}
