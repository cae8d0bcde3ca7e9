/** Tools that call tools, and runs with all reports of their calls. */

import { Drive, ScriptedModel, TestTracer } from "@recourse/testing"
import { Data, Effect, Layer, Schema } from "effect"
import type { ToolCall } from "@recourse/core"
import { Agent, type AgentEvent, Audit, ErrorProjection, IdempotencyLedger, Tool } from "@recourse/core"
import { collect, lastResults } from "./kit.ts"

export class Down extends Data.TaggedError("Down") {}

export class Closed extends Schema.TaggedError<Closed>()(
  "Closed",
  {},
  ErrorProjection.declare({
    code: "upstream_error",
    model: "The bank is closed.",
    user: "Our bank is closed today.",
    outcome: "not_done"
  })
) {}

const { call, text } = ScriptedModel

export type Inner = Effect.Effect<unknown, unknown, ToolCall.ToolCall>

/** A tool that does something with other tools' calls. */
export const outerOf = (execute: () => Inner, effects: Tool.Effects = "read"): Tool.Any =>
  Tool.make("outer", { success: Schema.Unknown, effects, execute: execute as never }) as never

export const write = (execute: () => Effect.Effect<string, unknown>, options?: object): Tool.Any =>
  Tool.make("pay", { success: Schema.String, effects: "write", execute, ...options } as never) as never

export const callOf = (tool: Tool.Any): Inner => tool.call as never

export type AnyAgent = Agent.Agent<string, string, unknown, never>

export const agentOf = (tools: ReadonlyArray<Tool.Any>, options?: object): AnyAgent =>
  Agent.make("lead", { tools, ...options } as never) as never

export const script = ScriptedModel.steps([call("outer", {}, { id: "c" }), text("done")])

/** The results of a run whose model calls `outer`. */
export const played = (agent: AnyAgent, audited?: (record: Audit.AuditRecord) => Effect.Effect<void>) =>
  Effect.gen(function*() {
    const log = collect()
    const audit: Array<Audit.AuditRecord> = []
    const { exit, requests, spans } = yield* Drive.drive(
      Effect.all({
        exit: Effect.exit(agent.run("go")),
        requests: Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests),
        spans: Effect.flatMap(TestTracer.TestTracer, ({ spans }) => spans)
      }).pipe(
        Effect.provide(Layer.mergeAll(
          ScriptedModel.layer(script),
          TestTracer.layer,
          log.layer,
          IdempotencyLedger.layerMemory,
          Audit.layer((record) =>
            Effect.andThen(Effect.sync(() => void audit.push(record)), audited?.(record) ?? Effect.void)
          )
        ))
      )
    )
    return {
      exit,
      results: requests.flatMap(({ prompt }) => lastResults(prompt)).map(({ result }) => result),
      audit: audit.map(({ callId, decision, tool }) => `${decision} ${tool} ${callId}`),
      resultOf: (callId: string) =>
        log.events.filter((event): event is Extract<AgentEvent.AgentEvent, { readonly _tag: "ToolResult" }> =>
          event._tag === "ToolResult" && event.callId === callId
        ),
      events: log.events,
      spans
    }
  })
