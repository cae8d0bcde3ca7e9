/** Tools that call tools, and the agents that run them. */

import { ScriptedModel } from "@recourse/testing"
import { Cause, Data, Effect, Exit, Layer, Redacted, Schema } from "effect"
import type { ToolError } from "@recourse/core"
import { Agent, Approval, Audit, IdempotencyLedger, Tool, ToolCall } from "@recourse/core"
import { collect, lastResults } from "./kit.ts"

export class Down extends Data.TaggedError("Down") {}

const { call, text } = ScriptedModel

export const Args = Schema.Struct({ to: Schema.String })

/** A tool that fails a number of times, and its arguments. */
export const tool = <const Name extends string, Eff extends Tool.Effects | undefined>(
  name: Name,
  effects: Eff,
  options?: { readonly failures?: number; readonly needsApproval?: boolean; readonly idempotency?: true }
) => {
  const runs: Array<{ readonly to: string; readonly id: string; readonly key: string | undefined }> = []
  const made = Tool.make(name, {
    parameters: Args,
    success: Schema.String,
    effects,
    needsApproval: options?.needsApproval ?? false,
    ...(options?.idempotency === undefined ? undefined : { idempotency: options.idempotency }),
    execute: ({ to }): Effect.Effect<string, Down, ToolCall.ToolCall> =>
      Effect.flatMap(ToolCall.ToolCall, ({ id, idempotencyKey }) =>
        Effect.suspend(() => {
          runs.push({ to, id, key: idempotencyKey })
          return runs.length <= (options?.failures ?? 0)
            ? Effect.fail(new Down())
            : Effect.succeed(`${name} ${runs.length} ${to}`)
        }))
  }) as Tool.Tool<Name, typeof Args, typeof Schema.String, ToolError.ToolError, never>
  return { runs, tool: made }
}

/** A tool that does something with other tools' calls. */
export const outer = <Eff extends Tool.Effects | undefined>(
  effects: Eff,
  execute: (params: typeof Args.Type) => Effect.Effect<string, unknown, ToolCall.ToolCall>
) => {
  const state = { runs: 0 }
  const made = Tool.make("outer", {
    parameters: Args,
    success: Schema.String,
    effects,
    mayRequestApproval: true,
    execute: (params) => Effect.suspend(() => (state.runs++, execute(params)))
  })
  return { state, tool: made as Tool.Any }
}

export const script = (name = "outer") =>
  ScriptedModel.layer(ScriptedModel.steps([call(name, { to: "Ada" }, { id: "c" }), text("done")]))

export const layer = Layer.merge(
  IdempotencyLedger.layerMemory,
  Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))
)

export type AnyAgent =
  & Agent.Agent<string, string, unknown, never>
  & Agent.Resumable<string, string, unknown, never, never>

export const agentOf = (tools: ReadonlyArray<Tool.Any>, options?: object): AnyAgent =>
  Agent.make("lead", { tools, ...options } as never) as never

/** An agent's continuation after a call: the model's results, its executions, its audit. */
export const played = <A>(effect: Effect.Effect<A, unknown, never>) =>
  Effect.gen(function*() {
    const log = collect()
    const audit: Array<Audit.AuditRecord> = []
    const observed = Layer.mergeAll(
      script(),
      log.layer,
      Audit.layer((record) => Effect.sync(() => void audit.push(record)))
    )
    const result = yield* Effect.exit(effect).pipe(
      Effect.zipWith(
        Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests),
        (exit, requests) => ({ exit, results: requests.flatMap(({ prompt }) => lastResults(prompt)) })
      ),
      Effect.provide(observed)
    )
    return { ...result, ...log, audit }
  })

export const pausedOf = (exit: Exit.Exit<unknown, unknown>): Approval.Paused => {
  if (Exit.isSuccess(exit) && exit.value instanceof Approval.Paused) return exit.value
  throw new Error(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : `not paused: ${JSON.stringify(exit.value)}`)
}

export type Inner = Effect.Effect<string, unknown, ToolCall.ToolCall>

export const recovered = (tool: Tool.Any, recover: (call: Inner) => Inner): Tool.Any =>
  (tool as Tool.Tool<string, never, never, never, never>).pipe(Tool.onError(recover as never)) as never
