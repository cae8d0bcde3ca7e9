/** Comparison of parts: how the tools of an agent differ from those that a snapshot is about. */
import * as Effect from "effect/Effect"
import * as AiTool from "effect/ai/Tool"
import { hashOf } from "../foundation/digest.ts"
import { idWithin, isStepOf } from "../path/path.ts"
import type { Definition, Definitions, PartState } from "./definitions.ts"
import type { Checkpoint, Snapshot } from "./snapshot.ts"

/** Parts of a tool that an approval of its calls relies on. */
export interface DescribedTool {
  readonly name: string
  readonly effects: string | undefined
  readonly trust: string
  readonly definition: AiTool.Any
  readonly info: { readonly description: { readonly text: string | undefined } }
}

/** A tool as hashes have it: with its schema as declared. The form that models get may change with the library. */
const describeTool = ({ definition, effects, info, name, trust }: DescribedTool) => ({
  name,
  effects,
  trust,
  description: info.description.text,
  parameters: AiTool.getJsonSchema(definition)
})

/** The exact hashed value of snapshots before version 4. */
export const describeTools = (tools: ReadonlyArray<DescribedTool>): unknown => tools.map(describeTool)

/** Parts of an agent that its snapshots are bound to. */
export interface Parts {
  /** The tools of a run. */
  readonly tools: ReadonlyArray<DescribedTool>
  /** The names of its skills. */
  readonly skills?: ReadonlyArray<string> | undefined
  /** Of an agent that is made of agents: the names of these, in order. */
  readonly agents?: ReadonlyArray<string> | undefined
}

type Role = PartState["role"]

/** Roles of an agent's tools in a snapshot, by name. Tools of inner agents have roles in their own snapshots. */
const rolesOf = ({ round }: Pick<Checkpoint, "round">): ReadonlyMap<string, Role> => {
  const roles = new Map<string, Role>()
  if (round === undefined) return roles
  const { calls, nested = [], pending, within = [] } = round
  const own = new Map(calls.map(({ id, name }) => [id, name]))
  const note = (name: string | undefined, role: Role) => {
    if (name !== undefined) roles.set(name, role)
  }
  // The last one counts: pending calls, before those of inner agents, before started ones.
  for (const { begun: startedCalls = [], callId } of [...within, ...nested]) {
    note(own.get(callId), "started")
    for (const { tool } of startedCalls) note(tool, "started")
  }
  for (const { callId } of nested) note(own.get(callId), "nested")
  for (const { callId, tool } of pending) {
    if (!nested.some((run) => callId.startsWith(idWithin(run.callId, "")))) note(tool, "waiting")
  }
  return roles
}

/** Computes a fact once for each tool: its schema is converted to JSON Schema, and hashed. */
const oncePerTool = <A>(compute: (tool: DescribedTool) => Effect.Effect<A>) => {
  const computed = new WeakMap<DescribedTool, A>()
  return (tool: DescribedTool): Effect.Effect<A> =>
    Effect.suspend(() => {
      const known = computed.get(tool)
      return known !== undefined
        ? Effect.succeed(known)
        : Effect.tap(compute(tool), (fact) => Effect.sync(() => computed.set(tool, fact)))
    })
}

const define = oncePerTool(Effect.fnUntraced(function*(tool): Effect.fn.Return<Definition> {
  const { description, effects, name, parameters, trust } = describeTool(tool)
  return {
    name,
    ...(effects === undefined ? undefined : { effects }),
    trust,
    description: yield* hashOf(description ?? null),
    parameters: yield* hashOf(parameters)
  }
}))

const shortHash = oncePerTool((tool) => Effect.map(hashOf(describeTool(tool)), (hash) => hash.slice(0, 16)))

/** The definitions that a snapshot of a run is bound to. */
export const definitionsOf = Effect.fnUntraced(function*(
  checkpoint: Pick<Checkpoint, "round">,
  { agents, tools }: Parts
): Effect.fn.Return<Definitions> {
  const roles = rolesOf(checkpoint)
  const pending: Array<Definition> = []
  const others: Array<Definitions["others"][number]> = []
  for (const tool of tools) {
    if (roles.has(tool.name)) pending.push(yield* define(tool))
    else others.push({ name: tool.name, hash: yield* shortHash(tool) })
  }
  return { pending, others, ...(agents === undefined ? undefined : { agents }) }
})

/** A part as {@link compareParts} finds it, without its agent. */
type Found = Omit<PartState, "agent" | "within">

const aspects = ["description", "parameters", "effects", "trust"] as const

const compareTools = Effect.fnUntraced(function*(
  { others, pending }: Definitions,
  roles: ReadonlyMap<string, Role>,
  tools: ReadonlyArray<DescribedTool>
): Effect.fn.Return<ReadonlyArray<Found>> {
  const now = new Map(tools.map((tool) => [tool.name, tool]))
  const found: Array<Found> = []
  for (const before of pending) {
    const { name } = before
    const tool = now.get(name)
    now.delete(name)
    const after = tool === undefined ? undefined : yield* define(tool)
    const differs = after === undefined ? [] : aspects.filter((aspect) => before[aspect] !== after[aspect])
    const state = after === undefined ? "missing" : differs.length > 0 ? "changed" : "equal"
    found.push({ part: "tool", name, role: roles.get(name) ?? "started", state, differs })
  }
  for (const { hash, name } of others) {
    const tool = now.get(name)
    now.delete(name)
    const state = tool === undefined ? "missing" : hash === (yield* shortHash(tool)) ? "equal" : "changed"
    found.push({ part: "tool", name, role: "irrelevant", state, differs: [] })
  }
  for (const name of now.keys()) {
    found.push({ part: "tool", name, role: "irrelevant", state: "added", differs: [] })
  }
  return found
})

/**
 * Agents that an agent is made of. Those whose steps have ended or wait concern the snapshot, and their order; others may be added,
 * moved and removed.
 */
const compareAgents = (
  { round, steps }: Pick<Checkpoint, "round" | "steps">,
  before: ReadonlyArray<string>,
  now: ReadonlyArray<string>
): ReadonlyArray<Found> => {
  const waiting = round?.nested?.map(({ callId }) => callId) ?? []
  const ended = Object.keys(steps?.done ?? {})
  const roleOf = (name: string): Role =>
    waiting.some((id) => isStepOf(id, name))
      ? "nested"
      : ended.some((id) => isStepOf(id, name))
      ? "started"
      : "irrelevant"
  const concerns = (name: string) => roleOf(name) !== "irrelevant"
  const isMoved = before.filter(concerns).join("\n") !== now.filter(concerns).join("\n")
  return [...new Set([...before, ...now])].map((name): Found => {
    const isHere = now.includes(name)
    const state = !isHere
      ? "missing"
      : !before.includes(name)
      ? "added"
      : isMoved && concerns(name)
      ? "changed"
      : "equal"
    return { part: "agent", name, role: roleOf(name), state, differs: [] }
  })
}

/** Compares the parts of an agent with those of a snapshot. */
export const compareParts = Effect.fnUntraced(
  function*(snapshot: Snapshot, now: Parts): Effect.fn.Return<ReadonlyArray<Found>> {
    const { skill, tools: definitions } = snapshot
    const roles = rolesOf(snapshot)
    const tools = typeof definitions === "string"
      ? [...roles].map(([name, role]): Found => ({ part: "tool", name, role, state: "unknown", differs: [] }))
      : yield* compareTools(definitions, roles, now.tools)
    const agents = typeof definitions === "string" || definitions.agents === undefined
      ? []
      : compareAgents(snapshot, definitions.agents, now.agents ?? [])
    const skills: ReadonlyArray<Found> = skill === undefined ? [] : [{
      part: "skill",
      name: skill,
      role: "started",
      state: now.skills?.includes(skill) === true ? "equal" : "missing",
      differs: []
    }]
    return [...skills, ...agents, ...tools]
  }
)

/** True if a part prevents the resumption of a snapshot. */
export const isLost = ({ role, state }: Pick<PartState, "role" | "state">): boolean =>
  role !== "irrelevant" && (state === "changed" || state === "missing")
