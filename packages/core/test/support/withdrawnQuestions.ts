/** Agents with questions, their pauses and resumptions, and the events of both. */

import { ScriptedModel } from "@recourse/testing"
import type { AgentEvent } from "@recourse/core"
import { Agent, Approval, Audit, ErrorProjection, Recovery, Tool, type ToolCall } from "@recourse/core"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { collect } from "./kit.ts"

export class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "Closed.", outcome: "not_done" })
) {}

export type Call = Effect.Effect<unknown, unknown, ToolCall.ToolCall>

export type Named = Tool.Any & { readonly call: Call }

export type Agents =
  & Agent.Agent<string, string, unknown, never>
  & Agent.Resumable<string, string, unknown, never, never>

export const tool = (name: string, options: object): Named =>
  Tool.make(name, { success: Schema.Unknown, failure: Declined, ...options } as never) as never

export const agentOf = (name: string, tools: ReadonlyArray<Tool.Any>, options: object = {}): Agents =>
  Agent.make(
    name,
    { instructions: name, tools, defaults: { onError: Recovery.standard }, ...options } as never
  ) as never

export const toolOf = (agent: Agents, options: object = {}): Named =>
  Agent.asTool((agent as never as { readonly name: string }).name, {
    description: "Does it",
    parameters: Schema.Struct({}),
    success: Schema.String,
    ...options
  } as never)(agent as never) as never

export const input = { input: Schema.Unknown }

/** The tools of all agents, and their executions. */
export const world = () => {
  const log: Array<string> = []
  const does = (name: string) => Effect.sync(() => (log.push(name), `${name} is done`))
  const ask = tool("ask", { effects: "write", needsApproval: true, execute: () => does("ask") })
  const look = tool("look", { effects: "read", execute: () => does("look") })
  const book = tool("book", {
    effects: "write",
    execute: () => does("book"),
    compensate: () => Effect.sync(() => void log.push("unbook"))
  })
  const made = (name: string, call: Call, options: object = {}): Named =>
    tool(name, { effects: "read", mayRequestApproval: true, execute: () => call, ...options })
  /** Ends the run that it is called in, once it is approved. */
  const gate = tool("gate", { effects: "read", needsApproval: true, execute: () => Effect.die("closed") })
  return { ask, book, does, gate, log, look, made }
}

export const ids = (names: string): ReadonlyArray<ScriptedModel.Turn> => [
  ScriptedModel.calls(names.split(" ").map((name) => ({ id: name, name, params: {} }))),
  ScriptedModel.text("done")
]

/** Each agent makes its calls in one answer, with the names of the tools as ids. */
export const models = (calls: Readonly<Record<string, string>>) =>
  ScriptedModel.layer((request, index) => {
    const { content } = request.prompt.content[0]!
    return ScriptedModel.steps(ids(calls[content as string]!) as never)(request, index)
  })

export const key = Approval.layerKey(Redacted.make("k".repeat(32)))

/** An execution of a run, and its events and audit. */
export const played = (calls: Readonly<Record<string, string>>, effect: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    const audit: Array<string> = []
    const exit = yield* Effect.exit(effect).pipe(Effect.provide(Layer.mergeAll(
      layer,
      key,
      models(calls),
      Audit.layer(({ callId, decision, path }) =>
        Effect.sync(() => void audit.push(`${path.join("/")} ${decision} ${callId}`))
      )
    )))
    return {
      audit,
      events,
      exit,
      results: events.flatMap((event) =>
        event._tag === "ToolResult" ? [`${event.path.join("/")} ${event.callId} ${event.code ?? "done"}`] : []
      ),
      started: events.flatMap((event) =>
        event._tag === "ToolCallStarted" ? [`${event.path.join("/")} ${event.callId}`] : []
      ),
      interrupted: events.flatMap((event) =>
        event._tag === "ToolAttemptFailed" && event.error === "Interrupted"
          ? [`${event.path.join("/")} ${event.callId} ${event.tool} ${event.attempt}`]
          : []
      )
    }
  })

export const pausedOf = ({ exit }: { readonly exit: Exit.Exit<unknown, unknown> }): Approval.Paused => {
  if (Exit.isSuccess(exit) && exit.value instanceof Approval.Paused) return exit.value
  throw new Error(`not paused: ${JSON.stringify(exit)}`)
}

/** Resumes the pause like another process, with some decisions. */
export const goneOn = (
  calls: Readonly<Record<string, string>>,
  agent: Agents,
  behind: Agents,
  decide: (call: Approval.PendingCall) => ReadonlyArray<Approval.Decision>
) =>
  Effect.gen(function*() {
    const first = yield* played(calls, agent.start("go"))
    const { pending, snapshot } = pausedOf(first)
    const went = yield* played(calls, behind.resume(JSON.parse(JSON.stringify(snapshot)), pending.flatMap(decide)))
    /** Path of a call: the agent's run, and the outer call. */
    const placeOf = ({ agentRunId, path, parent }: AgentEvent.AgentEvent) => JSON.stringify([agentRunId, path, parent])
    const places = new Map(
      first.events.flatMap((event) =>
        event._tag === "ToolCallStarted" ? [[`${event.path.join("/")} ${event.callId}`, placeOf(event)]] : []
      )
    )
    return {
      ...went,
      asked: pending.map(({ callId }) => callId),
      /** Results that are emitted with another path than their calls. */
      elsewhere: went.events.filter((event) =>
        (event._tag === "ToolResult" || event._tag === "ToolCompensated") &&
        places.get(`${event.path.join("/")} ${event.callId}`) !== placeOf(event)
      )
    }
  })
