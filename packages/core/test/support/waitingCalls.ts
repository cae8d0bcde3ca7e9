/** Tools that wait within other tools, and agents that run them. */

import { assert } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, Audit, ErrorProjection, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { collect } from "./kit.ts"

export class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "Closed.", outcome: "not_done" })
) {}

export const Args = Schema.Struct({ to: Schema.String })

export type Call = Effect.Effect<string, unknown, ToolCall.ToolCall>

/** A tool with the arguments of its executions. */
export const tool = (name: string, options: object = {}) => {
  const runs: Array<string> = []
  const made = Tool.make(name, {
    parameters: Args,
    success: Schema.String,
    effects: "write",
    failure: Declined,
    execute: ({ to }: typeof Args.Type) => Effect.sync(() => (runs.push(to), `${name} ${runs.length} ${to}`)),
    ...options
  } as never) as unknown as Tool.Any & { readonly call: Call }
  return { runs, tool: made }
}

export const asks = { needsApproval: true }

/** The model's tool: a read with the given `execute`. */
export const outer = (execute: () => Effect.Effect<unknown, unknown, ToolCall.ToolCall>, options: object = {}) =>
  tool("outer", { effects: "read", mayRequestApproval: true, execute: () => Effect.map(execute(), String), ...options })
    .tool

export type AnyAgent =
  & Agent.Agent<string, string, unknown, never>
  & Agent.Resumable<string, string, unknown, never, never>

export const agentOf = (tools: ReadonlyArray<Tool.Any>, options?: object): AnyAgent =>
  Agent.make(
    "lead",
    {
      tools,
      defaults: { onError: Recovery.policy({ ExecutionError: "escalate", OutcomeUnknown: "escalate" }) },
      ...options
    } as never
  ) as never

/** A run's continuation behind a call of `outer`: the model's results, events and audit. */
export const played = <A>(effect: Effect.Effect<A, unknown, never>) =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    const audit: Array<string> = []
    const exit = yield* Effect.exit(effect).pipe(Effect.provide(Layer.mergeAll(
      ScriptedModel.layer(
        ScriptedModel.steps([ScriptedModel.call("outer", { to: "Ada" }, { id: "c" }), ScriptedModel.text("done")])
      ),
      layer,
      Audit.layer(({ callId, decision }) => Effect.sync(() => void audit.push(`${decision} ${callId}`)))
    )))
    const results = events.flatMap((event) =>
      event._tag === "ToolResult" && event.callId === "c" ? [event.code ?? event.result] : []
    )
    return { audit, events, exit, results }
  })

export const pausedOf = ({ exit }: { readonly exit: Exit.Exit<unknown, unknown> }): Approval.Paused => {
  if (Exit.isSuccess(exit) && exit.value instanceof Approval.Paused) return exit.value
  throw new Error(`not paused: ${JSON.stringify(exit)}`)
}

/** The snapshot as another process has it. */
export const stored = ({ snapshot }: Approval.Paused): Approval.Snapshot => JSON.parse(JSON.stringify(snapshot))

export const yes = ({ pending }: Approval.Paused) => pending.map((call) => Approval.approve(call))

export const resumed = (agent: AnyAgent, paused: Approval.Paused, decisions = yes(paused)) =>
  played(agent.resume(stored(paused), decisions))

/** A run in which all that is asked is approved. */
export const approvedAll = (agent: AnyAgent) =>
  Effect.gen(function*() {
    let ran = yield* played(agent.start("go"))
    const pauses: Array<Approval.Paused> = []
    const audit = [...ran.audit]
    while (Exit.isSuccess(ran.exit) && ran.exit.value instanceof Approval.Paused) {
      const paused = pausedOf(ran)
      pauses.push(paused)
      assert.isBelow(pauses.length, 9)
      ran = yield* resumed(agent, paused)
      audit.push(...ran.audit)
    }
    return { ...ran, audit, pauses }
  })

export const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

export const layer = Layer.merge(IdempotencyLedger.layerMemory, key)

/** Other arguments for a tool's call. */
export function withArguments(args: typeof Args.Type) {
  return <A, E>(call: Effect.Effect<A, E, ToolCall.ToolCall>): Effect.Effect<A, E, ToolCall.ToolCall> =>
    Effect.updateService(call, ToolCall.ToolCall, (call) => ({ ...call, arguments: args }))
}
