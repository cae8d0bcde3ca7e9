/** Writes with each fate, and the records of their compensations. */

import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import type { Reconciliation, ToolError } from "@recourse/core"
import { Agent, type AgentEvent, Recovery, type RunRecord, Tool, ToolCall } from "@recourse/core"
import { Down } from "./kit.ts"

export const Params = Schema.Struct({ at: Schema.Date })

export const Booking = Schema.Struct({ at: Schema.Date })

export const at = new Date(0).toISOString()

export type AnyTool = Tool.Tool<string, never, never, never, never>

export type AnyAgent =
  & Agent.Agent<string, string, unknown, never>
  & Agent.Resumable<string, string, unknown, never, never>

/** Compensated calls with their arguments. */
export interface World {
  readonly undone: Array<readonly [name: string, params: unknown, result: unknown]>
  readonly calls: Array<ToolCall.Call>
}

export const worldOf = (): World => ({ undone: [], calls: [] })

export const tool = (world: World, name: string, more: object = {}): AnyTool =>
  Tool.make(name, {
    parameters: Params,
    success: Booking,
    effects: "write",
    execute: ({ at }: typeof Params.Type) => Effect.succeed({ at }),
    compensate: (params: unknown, result: unknown) =>
      Effect.flatMap(ToolCall.ToolCall, (call) =>
        Effect.sync(() => {
          world.undone.push([name, params, result])
          world.calls.push(call)
        })),
    ...more
  } as never) as never

export const lost = { execute: () => Effect.fail(new Down()) }

export const looks = (found: Effect.Effect<Reconciliation.Reconciliation<typeof Booking.Type>, unknown>) => ({
  ...lost,
  idempotency: { reconcile: () => found }
})

export const Die = Tool.make("die", { effects: "read", execute: () => Effect.die("no") })

export const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })

export const agentOf = (
  tools: ReadonlyArray<unknown>,
  reports: Array<ReadonlyArray<ToolError.NotCompensated>> = [],
  more: object = {}
) =>
  Agent.make("clerk", {
    tools: [...tools, Pay, Die] as never,
    defaults: { onError: Recovery.keepGoing },
    compensation: { report: (left: ReadonlyArray<ToolError.NotCompensated>) => Effect.sync(() => reports.push(left)) },
    ...more
  } as never) as never as AnyAgent

/** Calls each tool, then waits for a person or not, and dies. */
export const model = (tools: ReadonlyArray<string>, waits: boolean) =>
  ScriptedModel.layer(({ prompt }) => {
    const turns = [...tools, ...waits ? ["pay"] : [], "die"]
    const name = turns[prompt.content.filter(({ role }) => role === "assistant").length]!
    return ScriptedModel.call(name, name === "die" || name === "pay" ? {} : { at }, { id: `c_${name}` })
  })

export const stored = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A

export const reportOf = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) => {
    if (event._tag !== "ToolCompensated") return []
    const { because, callId, error, outcome, tool } = event
    return [stored({ callId, tool, outcome, because, error } as RunRecord.CompensatedCall)]
  })
